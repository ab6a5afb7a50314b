//! The cookie of a session. Browsers send a cookie to all ports of a host, so its name has the port that the page came
//! from: the dashboards of two daemons on one machine keep theirs apart.

use hyper::HeaderMap;
use hyper::header::{COOKIE, HOST, HeaderValue};

use super::sessions::LIFETIME;

/// The cookie for the host and port that one request is for.
#[derive(Debug)]
pub(crate) struct SessionCookie {
    name: String,
}

impl SessionCookie {
    /// The name without a port, which the default port of a scheme has.
    pub(crate) const NAME: &str = "corral_session";

    /// The cookie that belongs to the `Host` of a request.
    pub(crate) fn of(fields: &HeaderMap) -> Self {
        let host = fields.get(HOST).map_or(&b""[..], HeaderValue::as_bytes);
        let name = match port(host) {
            Some(port) => format!("{}_{port}", Self::NAME),
            None => Self::NAME.to_owned(),
        };
        Self { name }
    }

    /// The secret that a request shows: the outer value is there if any such cookie is, the inner one if it is one
    /// alone.
    pub(crate) fn shown<'f>(&self, fields: &'f HeaderMap) -> Option<Option<&'f [u8]>> {
        let pairs =
            fields.get_all(COOKIE).iter().flat_map(|value| value.as_bytes().split(|&byte| byte == b';'));
        let mut values = pairs.filter_map(|pair| {
            pair.trim_ascii().strip_prefix(self.name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
        });
        let first = values.next()?;
        Some(values.next().is_none().then_some(first))
    }

    /// The value of `Set-Cookie` that hands out a secret. It goes with the session: `corral dashboard` takes another
    /// port, and so another name, each time.
    pub(crate) fn begin(&self, secret: &str, is_over_tls: bool) -> String {
        self.set(secret, is_over_tls, &format!("; Max-Age={}", LIFETIME.as_secs()))
    }

    /// The value of `Set-Cookie` that has a browser forget it.
    pub(crate) fn end(&self, is_over_tls: bool) -> String {
        self.set("", is_over_tls, "; Max-Age=0")
    }

    fn set(&self, secret: &str, is_over_tls: bool, lifetime: &str) -> String {
        let secure = if is_over_tls { "; Secure" } else { "" };
        format!("{}={secret}; Path=/; HttpOnly; SameSite=Strict{lifetime}{secure}", self.name)
    }
}

fn port(host: &[u8]) -> Option<u16> {
    let place = host.iter().rposition(|&byte| byte == b':')?;
    std::str::from_utf8(&host[place + 1..]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(all: &[(&'static str, &str)]) -> HeaderMap {
        let field = |(name, value): &(&'static str, &str)| {
            (hyper::header::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        all.iter().map(field).collect()
    }

    #[track_caller]
    fn check_name(host: &str, name: &str) {
        assert_eq!(SessionCookie::of(&fields(&[("host", host)])).name, name, "{host}");
    }

    #[test]
    fn its_name_has_the_port() {
        check_name("localhost", "corral_session");
        check_name("localhost:8080", "corral_session_8080");
        check_name("[::1]:443", "corral_session_443");
        for odd in ["[::1]", "a:", "a:b", "a:99999", "a:1;x=y", "a:\u{e9}"] {
            check_name(odd, "corral_session");
        }
        assert_eq!(SessionCookie::of(&HeaderMap::new()).name, "corral_session");
    }

    #[test]
    fn cookies_of_other_ports_are_not_it() {
        let shown = |cookies: &str| {
            let fields = fields(&[("host", "a:80"), ("cookie", cookies)]);
            let shown = SessionCookie::of(&fields).shown(&fields);
            shown.map(|one| one.map(<[u8]>::to_vec))
        };
        assert_eq!(shown("corral_session=x; corral_session_81=y"), None);
        assert_eq!(shown("corral_session_81=y;corral_session_80=z"), Some(Some(b"z".to_vec())));
        assert_eq!(shown("corral_session_80=y; corral_session_80=z"), Some(None));
    }

    #[test]
    fn it_is_set_and_forgotten() {
        let cookie = SessionCookie::of(&fields(&[("host", "a:80")]));
        assert_eq!(
            cookie.begin("x", false),
            "corral_session_80=x; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200"
        );
        assert_eq!(
            cookie.end(true),
            "corral_session_80=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0; Secure"
        );
    }
}
