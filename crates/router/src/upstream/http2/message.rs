//! Heads and trailers in the form of HTTP/1, in which the rest of the server knows them, and in that of HTTP/2.

use bytes::Bytes;
use corral_http::response;
use h2::ext::Protocol;
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_KEY};
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use http::{Method, Request, StatusCode};

use crate::upstream::failure::ServerFailure;

/// The head of a request that is to be sent.
pub(crate) struct H2RequestHead<'h> {
    pub(crate) method: &'h [u8],
    /// The target in any of its forms.
    pub(crate) target: &'h [u8],
    /// Lines with the fields, `Host` among them.
    pub(crate) fields: &'h [u8],
    pub(crate) kind: StreamUse,
}

/// The use of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamUse {
    /// A request and its response.
    Exchange,
    /// Once the server agrees, a WebSocket connection (RFC 8441 section 5).
    WebSocket,
}

impl H2RequestHead<'_> {
    pub(super) fn request(&self, is_tls: bool) -> Result<Request<()>, ServerFailure> {
        let mut request = Request::new(());
        *request.method_mut() = Method::from_bytes(self.method).map_err(|_| not_representable("method"))?;
        let mut fields = fields(self.fields)?;
        if self.kind == StreamUse::WebSocket {
            *request.method_mut() = Method::CONNECT;
            request.extensions_mut().insert(Protocol::from_static("websocket"));
            fields.remove(SEC_WEBSOCKET_KEY);
        }
        let host = fields.remove(HOST).ok_or(not_representable("Host"))?;
        *request.uri_mut() = uri(is_tls, host.as_bytes(), self.target)?;
        *request.headers_mut() = fields;
        Ok(request)
    }
}

fn not_representable(part: &'static str) -> ServerFailure {
    ServerFailure::NotRepresentable(part)
}

fn uri(is_tls: bool, host: &[u8], target: &[u8]) -> Result<Uri, ServerFailure> {
    let path = origin_form(target);
    let path = if is_plain(path) { Bytes::copy_from_slice(path) } else { escaped(path) };
    Uri::builder()
        .scheme(if is_tls { Scheme::HTTPS } else { Scheme::HTTP })
        .authority(Authority::try_from(host).map_err(|_| not_representable("Host"))?)
        .path_and_query(PathAndQuery::from_maybe_shared(path).map_err(|_| not_representable("target"))?)
        .build()
        .map_err(|_| not_representable("target"))
}

/// The path and query of a target, which may be in its absolute form.
fn origin_form(target: &[u8]) -> &[u8] {
    if target.starts_with(b"/") || target == b"*" {
        return target;
    }
    let authority = memchr::memmem::find(target, b"://").map_or(0, |at| at + 3);
    let path = target[authority..].iter().position(|byte| matches!(byte, b'/' | b'?'));
    let path = path.map_or(&b""[..], |at| &target[authority + at..]);
    if path.is_empty() { b"/" } else { path }
}

/// Whether it has only bytes that are themselves in every URI.
fn is_plain(path: &[u8]) -> bool {
    path.iter().copied().all(is_plain_byte)
}

fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~/?%:@!$&'()*+,;=[]".contains(&byte)
}

fn escaped(path: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(path.len() + 16);
    for &byte in path {
        if is_plain_byte(byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    out.into()
}

fn fields(lines: &[u8]) -> Result<HeaderMap, ServerFailure> {
    let mut fields = HeaderMap::new();
    for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let colon = memchr::memchr(b':', line).ok_or(not_representable("header"))?;
        let name = HeaderName::from_bytes(&line[..colon]).map_err(|_| not_representable("header"))?;
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii())
            .map_err(|_| not_representable("header"))?;
        fields.try_append(name, value).map_err(|_| not_representable("number of headers"))?;
    }
    Ok(fields)
}

/// The head of a response in the form of HTTP/1.
pub(super) fn head(status: StatusCode, fields: &HeaderMap) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + fields.len() * 32);
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.extend_from_slice(b" \r\n");
    append_lines(fields, &mut out);
    out.extend_from_slice(b"\r\n");
    out
}

fn append_lines(fields: &HeaderMap, out: &mut Vec<u8>) {
    for (name, value) in fields {
        response::append_checked_field(out, name.as_str().as_bytes(), value.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_target(target: &str, expect: &str) {
        let outgoing = H2RequestHead {
            method: b"GET",
            target: target.as_bytes(),
            fields: b"Host: a:1\r\nX-A: b\r\n",
            kind: StreamUse::Exchange,
        };
        let request = outgoing.request(false).expect("a request");
        assert_eq!(request.uri().to_string(), format!("http://a:1{expect}"), "{target}");
        assert_eq!(request.headers().len(), 1);
    }

    #[test]
    fn targets_of_all_forms_become_paths() {
        check_target("/a?b=c", "/a?b=c");
        check_target("http://other/a?b", "/a?b");
        check_target("http://other", "/");
        check_target("http://other?x", "/?x");
        check_target("*", "*");
        check_target("/a#b<c>|\"\\^`{}", "/a%23b%3Cc%3E%7C%22%5C%5E%60%7B%7D");
        check_target("/\u{e9}", "/%C3%A9");
    }

    #[test]
    fn what_http2_has_no_place_for_is_refused() {
        for (host, target) in [("a b", "/"), ("", "/"), ("a", &*"/x".repeat(40_000))] {
            let fields = format!("Host: {host}\r\n");
            let outgoing = H2RequestHead {
                method: b"GET",
                target: target.as_bytes(),
                fields: fields.as_bytes(),
                kind: StreamUse::Exchange,
            };
            assert!(outgoing.request(true).is_err(), "{host:?}");
        }
    }

    #[test]
    fn heads_have_the_form_of_http1() {
        let fields = fields(b"A: 1\r\nb: 2\r\nA: 3\r\n").expect("fields");
        let head = String::from_utf8(head(StatusCode::OK, &fields)).expect("text");
        assert_eq!(head, "HTTP/1.1 200 \r\na: 1\r\na: 3\r\nb: 2\r\n\r\n");
    }
}
