//! A request as the variables of CGI (RFC 3875 section 4.1; contract 22), which PHP, WSGI, Rack and PSGI have in
//! common.

use std::cmp::Ordering;

use corral_channel::message::{RequestHead, Version};
use smallvec::SmallVec;

/// `SERVER_SOFTWARE`.
pub const SOFTWARE: &str = concat!("Corral/", env!("CARGO_PKG_VERSION"));

/// `GATEWAY_INTERFACE`.
pub const GATEWAY_INTERFACE: &str = "CGI/1.1";

/// The variables of one request after the other, in one buffer.
#[derive(Debug, Default)]
pub struct Variables {
    text: Vec<u8>,
    /// Where the name and the value of each end in `text`.
    ends: Vec<(usize, usize)>,
}

impl Variables {
    /// Takes the place of what was here. Fields that are repeated become one variable.
    pub fn describe<'f>(
        &mut self,
        head: &RequestHead<'_>,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) {
        self.text.clear();
        self.ends.clear();
        self.add(b"SERVER_SOFTWARE", SOFTWARE.as_bytes());
        self.add(b"GATEWAY_INTERFACE", GATEWAY_INTERFACE.as_bytes());
        self.add(b"SERVER_PROTOCOL", protocol(head));
        self.add(b"REQUEST_METHOD", head.method);
        self.add(b"REQUEST_URI", head.target);
        self.add(b"PATH_INFO", head.path);
        self.add(b"QUERY_STRING", head.query);
        self.add(b"REMOTE_ADDR", head.remote_addr);
        if head.remote_port != 0 {
            self.add(b"REMOTE_PORT", itoa::Buffer::new().format(head.remote_port).as_bytes());
        }
        // Some applications take an empty user for one.
        for (name, value) in [(&b"REMOTE_USER"[..], head.remote_user), (b"AUTH_TYPE", head.auth_type)] {
            if !value.is_empty() {
                self.add(name, value);
            }
        }
        self.add(b"SERVER_ADDR", head.local_addr);
        self.add(b"SERVER_NAME", server_name(head));
        self.add(b"SERVER_PORT", server_port(head, &mut itoa::Buffer::new()).as_bytes());
        self.add(b"REQUEST_SCHEME", scheme(head));
        if head.tls {
            self.add(b"HTTPS", b"on");
        }
        if let Some(length) = head.content_length {
            self.add(b"CONTENT_LENGTH", itoa::Buffer::new().format(length).as_bytes());
        }
        self.add_fields(fields);
    }

    /// Names and values in no particular order; each name once.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + Clone {
        let mut start = 0;
        self.ends.iter().map(move |&(name_end, value_end)| {
            let pair = (&self.text[start..name_end], &self.text[name_end..value_end]);
            start = value_end;
            pair
        })
    }

    fn add_fields<'f>(&mut self, fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) {
        let fields = fields.filter(|(name, _)| !name.eq_ignore_ascii_case(b"content-length"));
        let mut fields: SmallVec<[(&[u8], &[u8]); 32]> = fields.collect();
        // Those of one variable stand together then, in their order.
        fields.sort_by(|(a, _), (b, _)| variable_order(a, b));
        for same in fields.chunk_by(|(a, _), (b, _)| variable_order(a, b).is_eq()) {
            let [(name, value), repeated @ ..] = same else { continue };
            let is_type = name.eq_ignore_ascii_case(b"content-type");
            if is_type {
                self.text.extend_from_slice(b"CONTENT_TYPE");
            } else {
                self.text.extend_from_slice(b"HTTP_");
                self.text.extend(name.iter().map(|byte| variable_byte(*byte)));
            }
            let name_end = self.text.len();
            self.text.extend_from_slice(value);
            let separator: &[u8] = if name.eq_ignore_ascii_case(b"cookie") { b"; " } else { b", " };
            for (_, more) in repeated.iter().filter(|_| !is_type) {
                self.text.extend_from_slice(separator);
                self.text.extend_from_slice(more);
            }
            self.ends.push((name_end, self.text.len()));
        }
    }

    fn add(&mut self, name: &[u8], value: &[u8]) {
        self.text.extend_from_slice(name);
        let name_end = self.text.len();
        self.text.extend_from_slice(value);
        self.ends.push((name_end, self.text.len()));
    }
}

/// Whether fields of these names become one variable: `X_User` of a client would join the `X-User` that scripts trust.
#[must_use]
pub fn is_one_variable(one: &[u8], other: &[u8]) -> bool {
    variable_order(one, other).is_eq()
}

/// Fields that become the same variable are equal; otherwise the order has no meaning.
fn variable_order(a: &[u8], b: &[u8]) -> Ordering {
    let bytes = |(a, b): (&u8, &u8)| variable_byte(*a).cmp(&variable_byte(*b));
    let differing = || a.iter().zip(b).map(bytes).find(|order| order.is_ne());
    a.len().cmp(&b.len()).then_with(|| differing().unwrap_or(Ordering::Equal))
}

/// Whatever cannot be in a variable's name becomes `_`.
fn variable_byte(byte: u8) -> u8 {
    if byte.is_ascii_alphanumeric() { byte.to_ascii_uppercase() } else { b'_' }
}

/// `SERVER_PROTOCOL`.
#[must_use]
pub fn protocol(head: &RequestHead<'_>) -> &'static [u8] {
    match head.version {
        Version::Http10 => b"HTTP/1.0",
        Version::Http11 => b"HTTP/1.1",
        Version::Http2 => b"HTTP/2.0",
    }
}

/// `REQUEST_SCHEME`: as the client sees it.
#[must_use]
pub fn scheme(head: &RequestHead<'_>) -> &'static [u8] {
    if head.tls { b"https" } else { b"http" }
}

/// `SERVER_NAME`: the host as the client named it, without a port.
#[must_use]
pub fn server_name<'a>(head: &RequestHead<'a>) -> &'a [u8] {
    if head.host.is_empty() { b"localhost" } else { head.host }
}

/// `SERVER_PORT`: the one that clients reach; a socket without one (Unix) stands for the scheme's usual port.
pub fn server_port<'b>(head: &RequestHead<'_>, buffer: &'b mut itoa::Buffer) -> &'b str {
    match head.local_port {
        0 if head.tls => "443",
        0 => "80",
        port => buffer.format(port),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use corral_channel::message::{RequestHead, decode_request, encode_request};

    use super::*;

    /// The variables that `fields` become, `NAME=value` each, sorted.
    #[track_caller]
    fn check(fields: &[(&str, &str)], expect: &[&str]) {
        let mut payload = Vec::new();
        let head = RequestHead {
            method: b"GET",
            target: b"/a%20b?c",
            path: b"/a b",
            query: b"c",
            ..RequestHead::default()
        };
        encode_request(&mut payload, &head, fields.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())));
        let mut variables = Variables::default();
        let view = decode_request(&payload).expect("what was just encoded");
        variables.describe(&view.head, view.fields);
        let mut found: Vec<String> = { variables.iter() }
            .map(|(name, value)| {
                format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
            })
            .filter(|text| text.starts_with("HTTP_") || text.starts_with("CONTENT_"))
            .collect();
        found.sort();
        assert_eq!(found, expect);
    }

    #[test]
    fn names_are_those_of_variables() {
        check(&[("X-One.two", "a"), ("accept", "b")], &["HTTP_ACCEPT=b", "HTTP_X_ONE_TWO=a"]);
    }

    #[test]
    fn repeated_fields_are_joined() {
        check(
            &[("A", "1"), ("Cookie", "x=1"), ("a", "2"), ("cookie", "y=2"), ("b", "3")],
            &["HTTP_A=1, 2", "HTTP_B=3", "HTTP_COOKIE=x=1; y=2"],
        );
    }

    /// Four times as many fields take about four times as long.
    #[test]
    fn many_fields_are_no_more_work_than_they_are() {
        let time = |n: usize| {
            let names: Vec<String> = (0..n).map(|n| format!("X{n:05}")).collect();
            let mut payload = Vec::new();
            let fields = names.iter().map(|name| (name.as_bytes(), &b""[..]));
            encode_request(&mut payload, &RequestHead::default(), fields);
            let view = decode_request(&payload).expect("what was just encoded");
            let mut variables = Variables::default();
            let times = (0..20).map(|_| {
                let began = Instant::now();
                variables.describe(&view.head, view.fields);
                assert_eq!(variables.iter().len(), n + 12);
                began.elapsed()
            });
            times.min().expect("twenty")
        };
        let (few, many) = (time(1000), time(8000));
        assert!(many < few * 32, "{few:?} for 1000 fields, {many:?} for 8000");
    }

    #[test]
    fn the_body_is_described_once() {
        check(&[("Content-Type", "text/plain"), ("content-length", "7")], &["CONTENT_TYPE=text/plain"]);
    }

    #[test]
    fn the_request_is_described() {
        let mut payload = Vec::new();
        let head = RequestHead {
            method: b"PUT",
            target: b"/a%20b?c",
            path: b"/a b",
            query: b"c",
            host: b"example.com",
            remote_addr: b"192.0.2.1",
            remote_port: 49152,
            remote_user: b"alice",
            auth_type: b"Basic",
            local_addr: b"192.0.2.2",
            local_port: 8080,
            version: Version::Http11,
            tls: true,
            content_length: Some(12),
            ..RequestHead::default()
        };
        encode_request(&mut payload, &head, []);
        let mut variables = Variables::default();
        let view = decode_request(&payload).expect("what was just encoded");
        variables.describe(&view.head, view.fields);
        let value = |name: &str| {
            variables
                .iter()
                .find(|(n, _)| *n == name.as_bytes())
                .map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        };
        for (name, expect) in [
            ("REQUEST_METHOD", "PUT"),
            ("REQUEST_URI", "/a%20b?c"),
            ("PATH_INFO", "/a b"),
            ("QUERY_STRING", "c"),
            ("SERVER_NAME", "example.com"),
            ("SERVER_PORT", "8080"),
            ("SERVER_PROTOCOL", "HTTP/1.1"),
            ("HTTPS", "on"),
            ("REMOTE_ADDR", "192.0.2.1"),
            ("REMOTE_PORT", "49152"),
            ("REQUEST_SCHEME", "https"),
            ("GATEWAY_INTERFACE", "CGI/1.1"),
            ("SERVER_ADDR", "192.0.2.2"),
            ("REMOTE_USER", "alice"),
            ("AUTH_TYPE", "Basic"),
            ("CONTENT_LENGTH", "12"),
            ("SERVER_SOFTWARE", SOFTWARE),
        ] {
            assert_eq!(value(name).as_deref(), Some(expect), "{name}");
        }
        assert_eq!(variables.iter().len(), 17);
    }
}
