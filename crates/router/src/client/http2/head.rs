//! A request of HTTP/2 in the form of HTTP/1: what reads it, routes it and logs it need not know of the difference.

use aws_lc_rs::rand;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use corral_http::request::HTTP_2;
use corral_http::response::FIELD_OVERHEAD;
use h2::ext::Protocol;
use http::request::Parts;
use http::{HeaderMap, Method, header};

/// The kind of a request's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamKind {
    Plain,
    /// A WebSocket connection on its stream (RFC 8441 section 5).
    WebSocket,
    /// Another protocol on its stream, which this server does not speak.
    Unknown,
}

impl StreamKind {
    pub(super) fn of(parts: &Parts) -> Self {
        match parts.extensions.get::<Protocol>() {
            None => Self::Plain,
            Some(protocol) if protocol.as_str().eq_ignore_ascii_case("websocket") => Self::WebSocket,
            Some(_) => Self::Unknown,
        }
    }
}

/// Bytes that the head may take in the form of HTTP/1.
pub(super) fn len_at_most(parts: &Parts) -> usize {
    let uri = &parts.uri;
    let authority = uri.authority().map_or(0, |authority| authority.as_str().len());
    let target = uri.path_and_query().map_or(0, |target| target.as_str().len());
    let fields = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + FIELD_OVERHEAD);
    parts.method.as_str().len() + target + authority + fields.sum::<usize>() + MOST_ADDED
}

/// Bytes of what HTTP/1 says beside: the version, the names of fields, an upgrade with its key.
const MOST_ADDED: usize = 128;

/// Appends the head of HTTP/1 that says the same. `is_whole` if there is no body.
///
/// A WebSocket connection is asked for as in HTTP/1, with a key that no client has sent, and a body whose length is not
/// announced comes as if in chunks.
pub(super) fn append(parts: &Parts, kind: StreamKind, is_whole: bool, out: &mut Vec<u8>) {
    let method = if kind == StreamKind::WebSocket { &Method::GET } else { &parts.method };
    let uri = &parts.uri;
    let authority = uri.authority().map(|authority| authority.as_str().as_bytes());
    let target = uri.path_and_query().map(|target| target.as_str().as_bytes());
    // Without one it is the CONNECT of a proxy, whose target is not a path: it is refused as in HTTP/1.
    let target = target.or(authority).unwrap_or_default();
    for part in [method.as_str().as_bytes(), b" ", target, b" ", HTTP_2, b"\r\n"] {
        out.extend_from_slice(part);
    }
    if let Some(authority) = authority {
        append_field(out, b"host", authority);
    }
    append_fields(&parts.headers, authority, out);
    if kind == StreamKind::WebSocket {
        append_upgrade(out);
    } else if !is_whole && !parts.headers.contains_key(header::CONTENT_LENGTH) {
        append_field(out, b"transfer-encoding", b"chunked");
    }
    out.extend_from_slice(b"\r\n");
}

fn append_fields(fields: &HeaderMap, authority: Option<&[u8]>, out: &mut Vec<u8>) {
    for (name, value) in fields {
        let is_known = match *name {
            // Said twice; if the two differ, both are seen, and the request is refused.
            header::HOST => {
                authority.is_some_and(|authority| authority.eq_ignore_ascii_case(value.as_bytes()))
            }
            header::COOKIE => true,
            _ => false,
        };
        if !is_known {
            append_field(out, name.as_str().as_bytes(), value.as_bytes());
        }
    }
    append_cookies(fields, out);
}

/// All pairs in one field: clients split them so that each can be compressed (RFC 9113 section 8.2.3).
fn append_cookies(fields: &HeaderMap, out: &mut Vec<u8>) {
    for (idx, crumb) in fields.get_all(header::COOKIE).iter().enumerate() {
        out.extend_from_slice(if idx == 0 { b"cookie: " } else { b"; " });
        out.extend_from_slice(crumb.as_bytes());
    }
    if fields.contains_key(header::COOKIE) {
        out.extend_from_slice(b"\r\n");
    }
}

fn append_upgrade(out: &mut Vec<u8>) {
    let mut nonce = [0; 16];
    rand::fill(&mut nonce).expect("the system has random numbers");
    append_field(out, b"connection", b"upgrade");
    append_field(out, b"upgrade", b"websocket");
    append_field(out, b"sec-websocket-key", BASE64_STANDARD.encode(nonce).as_bytes());
}

/// Names and values of crate `http` cannot break out of their lines.
fn append_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, b": ", value, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn written(request: http::request::Builder, kind: StreamKind, is_whole: bool) -> String {
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let mut out = Vec::new();
        append(&parts, kind, is_whole, &mut out);
        assert!(out.len() <= len_at_most(&parts), "{} bytes", out.len());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn fields_keep_their_order_and_cookies_come_together() {
        let request = Request::get("https://a.example/b?c=d")
            .header("cookie", "a=1")
            .header("accept", "*/*")
            .header("cookie", "b=2")
            .header("x-a", "");
        assert_eq!(
            written(request, StreamKind::Plain, true),
            "GET /b?c=d HTTP/2.0\r\nhost: a.example\r\naccept: */*\r\nx-a: \r\ncookie: a=1; b=2\r\n\r\n"
        );
    }

    #[test]
    fn a_host_that_says_the_same_is_said_once() {
        let request = |host: &str| Request::get("https://a.example/").header("host", host);
        let same = written(request("A.example"), StreamKind::Plain, true);
        assert_eq!(same, "GET / HTTP/2.0\r\nhost: a.example\r\n\r\n");
        let other = written(request("b.example"), StreamKind::Plain, true);
        assert_eq!(other, "GET / HTTP/2.0\r\nhost: a.example\r\nhost: b.example\r\n\r\n");
    }

    #[test]
    fn a_body_of_unknown_length_is_one_in_chunks() {
        let request = || Request::post("https://a/");
        let unknown = written(request(), StreamKind::Plain, false);
        assert_eq!(unknown, "POST / HTTP/2.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n");
        let known = written(request().header("content-length", "3"), StreamKind::Plain, false);
        assert_eq!(known, "POST / HTTP/2.0\r\nhost: a\r\ncontent-length: 3\r\n\r\n");
    }

    #[test]
    fn a_websocket_is_asked_for_as_in_http_1() {
        let request = Request::connect("https://a/chat").header("sec-websocket-version", "13");
        let request = written(request, StreamKind::WebSocket, false);
        let expect = "GET /chat HTTP/2.0\r\nhost: a\r\nsec-websocket-version: 13\r\n\
                      connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: ";
        let key = request.strip_prefix(expect).unwrap_or_else(|| panic!("{request}"));
        assert_eq!(key.trim_end().len(), 24, "{key}");
    }
}
