//! Headers whose value is, or has, a URL: where it begins, and whether it is one of the server itself.

use corral_config::address::ListenAddress;
use corral_config::upstream::{Origin, UpstreamHost};
use corral_http::request::KnownField;

use crate::exchange::response::ResponseWriter;

/// Where the URL begins in the value of a header, if that has one.
pub(super) fn start(name: &[u8], value: &[u8]) -> Option<usize> {
    let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
    match name.len() {
        8 if is(b"Location") => Some(0),
        16 if is(b"Content-Location") => Some(0),
        7 if is(b"Refresh") => refresh(value),
        _ => None,
    }
}

/// `5; url=/next`, as browsers read it.
fn refresh(value: &[u8]) -> Option<usize> {
    let separator = value.iter().position(|byte| matches!(byte, b';' | b','))? + 1;
    let at = separator + value[separator..].iter().position(|byte| !byte.is_ascii_whitespace())?;
    let is_named = value.get(at..at + 4).is_some_and(|name| name.eq_ignore_ascii_case(b"url="));
    let at = if is_named { at + 4 } else { at };
    let is_quoted = matches!(value.get(at), Some(b'"' | b'\''));
    Some(at + usize::from(is_quoted))
}

/// The rest of a URL whose scheme, host and port are the server's own.
pub(super) fn of_server<'v>(url: &'v [u8], origin: &Origin) -> Option<&'v [u8]> {
    let (usual_port, rest) = match scheme(url)? {
        (b"http", rest) => (80, rest),
        (b"https", rest) => (443, rest),
        _ => return None,
    };
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    is_server(authority, usual_port, origin).then_some(rest)
}

/// The scheme, of the two that servers have, and what is behind `://`.
fn scheme(url: &[u8]) -> Option<(&'static [u8], &[u8])> {
    let starts = |scheme: &[u8]| url.get(..scheme.len()).is_some_and(|is| is.eq_ignore_ascii_case(scheme));
    if starts(b"http://") {
        return Some((b"http", &url[7..]));
    }
    starts(b"https://").then(|| (&b"https"[..], &url[8..]))
}

fn is_server(authority: &[u8], usual_port: u16, origin: &Origin) -> bool {
    let Ok(authority) = std::str::from_utf8(authority) else { return false };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()),
        _ => (authority, Some(usual_port)),
    };
    match &origin.host {
        UpstreamHost::Named { name, port: own } => {
            port == Some(*own) && host.strip_suffix('.').unwrap_or(host).eq_ignore_ascii_case(name)
        }
        UpstreamHost::Address(ListenAddress::Inet(address)) => {
            let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
            port == Some(address.port()) && host.parse() == Ok(address.ip())
        }
        // It is asked by this name if the client has said none.
        UpstreamHost::Address(_) => host.eq_ignore_ascii_case("localhost") && port == Some(usual_port),
    }
}

/// Appends scheme, host and port that the client has asked for; false if it has not said the host.
pub(super) fn append_client_origin(response: &ResponseWriter<'_, '_>, out: &mut Vec<u8>) -> bool {
    let request = &response.request;
    let host = request.received.head.value(request.received.bytes, KnownField::Host);
    let Some(host) = host.filter(|host| !host.is_empty()) else { return false };
    out.extend_from_slice(if request.client.tls { b"https://" } else { b"http://" });
    out.extend_from_slice(host);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rest of a URL of the server at `origin`; `None` if it is another's.
    #[track_caller]
    fn check(origin: &str, url: &str, expect: Option<&str>) {
        let origin = Origin::parse_url(origin.as_bytes()).expect("an origin");
        let rest = of_server(url.as_bytes(), &origin).map(String::from_utf8_lossy);
        assert_eq!(rest.as_deref(), expect, "{origin}: {url}");
    }

    #[test]
    fn a_server_is_known_by_host_and_port() {
        check("http://10.0.0.1:8080", "http://10.0.0.1:8080/a?b#c", Some("/a?b#c"));
        check("http://10.0.0.1:8080", "http://10.0.0.1:8080", Some(""));
        check("http://10.0.0.1:8080", "https://10.0.0.1:8080?x", Some("?x"));
        check("http://backend:80", "HTTP://BackEnd/a", Some("/a"));
        check("http://backend:80", "http://backend./a", Some("/a"));
        check("https://backend:443", "https://backend/a", Some("/a"));
        check("http://[::1]:80", "http://[::1]/a", Some("/a"));
        check("http://[::1]:8080", "http://[0:0::1]:8080/a", Some("/a"));
        check("http://unix:/s", "http://localhost/a", Some("/a"));
    }

    #[test]
    fn others_stay_as_they_are() {
        for url in [
            "",
            "/a",
            "//10.0.0.1:8080/a",
            "http://10.0.0.1/a",
            "http://10.0.0.1:80801/a",
            "http://10.0.0.1:8080.evil.example/a",
            "http://10.0.0.1:8080@evil.example/a",
            "http://10.0.0.11:8080/a",
            "http://x@10.0.0.1:8080/a",
            "ftp://10.0.0.1:8080/a",
            "http:10.0.0.1:8080/a",
            "http://10.0.0.1:/a",
            "http://\u{e9}:8080/",
        ] {
            check("http://10.0.0.1:8080", url, None);
        }
        check("http://backend:80", "https://backend/a", None);
        check("http://backend:80", "http://backend.example/a", None);
    }

    #[test]
    fn the_url_of_a_refresh_is_found() {
        for (value, expect) in [
            ("5; url=http://a/", Some("http://a/")),
            ("0;URL='http://a/'", Some("http://a/'")),
            ("5,http://a/", Some("http://a/")),
            ("5;", None),
            ("5", None),
            ("", None),
            ("5; url=", Some("")),
        ] {
            let start = start(b"refresh", value.as_bytes());
            assert_eq!(start.map(|start| &value[start..]), expect, "{value}");
        }
        assert_eq!(start(b"location", b"http://a"), Some(0));
        assert_eq!(start(b"x-location", b"http://a"), None);
    }
}
