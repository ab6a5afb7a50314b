//! A request before the run, and the forms in which it is sent: bytes of HTTP/1, or a head and a body for HTTP/2.
//! Both are made once, so that sending costs as little as it can.

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::Authority;
use http::{Method, Uri, Version};

const USER_AGENT: &str = concat!("corral-tank/", env!("CARGO_PKG_VERSION"));

/// Headers that belong to a connection of HTTP/1.
const OF_CONNECTION: &[HeaderName] =
    &[header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE, header::TE];

/// A request as options and ammo describe it.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    /// In the order in which they were given; `Host` among them replaces the one of the URL.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
}

impl Message {
    /// The bytes of HTTP/1.1.
    pub(crate) fn http1(&self, authority: &Authority, keep_alive: bool) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        let mut push = |name: &str, value: &[u8]| {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        };
        if !self.has(&header::HOST) {
            push("Host", authority.as_str().as_bytes());
        }
        if !self.has(&header::USER_AGENT) {
            push("User-Agent", USER_AGENT.as_bytes());
        }
        if !keep_alive && !self.has(&header::CONNECTION) {
            push("Connection", b"close");
        }
        if self.has_length() {
            push("Content-Length", self.body.len().to_string().as_bytes());
        }
        for (name, value) in &self.headers {
            push(name.as_str(), value.as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// The head for HTTP/2, without what belongs to a connection.
    pub(crate) fn http2(&self, authority: &Authority, is_tls: bool) -> Result<http::Request<()>> {
        let host = self.headers.iter().find(|(name, _)| name == header::HOST);
        let authority = host.map_or(authority.as_str().as_bytes(), |(_, value)| value.as_bytes());
        let scheme = if is_tls { "https" } else { "http" };
        let uri = Uri::builder().scheme(scheme).authority(authority).path_and_query(self.target.as_str());
        let mut request = http::Request::new(());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri.build().with_context(|| format!("the target {:?}", self.target))?;
        *request.version_mut() = Version::HTTP_2;
        self.fill(request.headers_mut());
        Ok(request)
    }

    fn fill(&self, headers: &mut HeaderMap) {
        if !self.has(&header::USER_AGENT) {
            headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        }
        if self.has_length() {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(self.body.len()));
        }
        let kept = |name: &HeaderName| *name != header::HOST && !OF_CONNECTION.contains(name);
        for (name, value) in self.headers.iter().filter(|(name, _)| kept(name)) {
            headers.append(name.clone(), value.clone());
        }
    }

    fn has(&self, name: &HeaderName) -> bool {
        self.headers.iter().any(|(found, _)| found == name)
    }

    /// Whether a length is said for the body, and not by a header that was given.
    fn has_length(&self) -> bool {
        let needs_one =
            !self.body.is_empty() || [Method::POST, Method::PUT, Method::PATCH].contains(&self.method);
        needs_one && !self.has(&header::CONTENT_LENGTH)
    }
}

/// Reads `Name: value`.
pub(crate) fn header(text: &str) -> Result<(HeaderName, HeaderValue)> {
    let (name, value) =
        text.split_once(':').with_context(|| format!("expected \"Name: value\", found {text:?}"))?;
    let name = name.trim().parse().with_context(|| format!("the name of the header {text:?}"))?;
    let value = value.trim().parse().with_context(|| format!("the value of the header {text:?}"))?;
    Ok((name, value))
}

/// Checks a path with its query, as it is sent in the first line.
pub(crate) fn target(text: &str) -> Result<String> {
    if !text.starts_with('/') || text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        bail!("expected a path that begins with \"/\", found {text:?}");
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(method: Method, headers: &[&str], body: &'static str) -> Message {
        let headers = headers.iter().map(|text| header(text).expect("it is a header")).collect();
        Message { method, target: "/a?b".to_owned(), headers, body: Bytes::from_static(body.as_bytes()) }
    }

    fn authority() -> Authority {
        Authority::from_static("example.org:8080")
    }

    #[track_caller]
    fn check(message: &Message, keep_alive: bool, expected: &str) {
        let text = String::from_utf8(message.http1(&authority(), keep_alive)).expect("it is text");
        assert_eq!(text.replace(USER_AGENT, "tank").replace("\r\n", "|"), expected);
    }

    #[test]
    fn heads_of_http1_are_complete() {
        let plain = message(Method::GET, &[], "");
        check(&plain, true, "GET /a?b HTTP/1.1|Host: example.org:8080|User-Agent: tank||");
        check(&plain, false, "GET /a?b HTTP/1.1|Host: example.org:8080|User-Agent: tank|Connection: close||");
        let post = message(Method::POST, &["host: other", "User-Agent: me"], "abc");
        check(&post, true, "POST /a?b HTTP/1.1|Content-Length: 3|host: other|user-agent: me||abc");
        let empty = message(Method::PUT, &["Content-Length: 0", "Host: h"], "");
        check(&empty, true, "PUT /a?b HTTP/1.1|User-Agent: tank|content-length: 0|host: h||");
    }

    #[test]
    fn heads_of_http2_leave_the_connection_out() {
        let message = message(Method::GET, &["Host: other.org", "Connection: close", "X-A: 1", "X-A: 2"], "");
        let head = message.http2(&authority(), true).expect("it can be sent");
        assert_eq!(head.uri(), "https://other.org/a?b");
        let names: Vec<_> =
            head.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        assert_eq!(names, [("user-agent", USER_AGENT.as_bytes()), ("x-a", b"1"), ("x-a", b"2")]);
    }

    #[test]
    fn headers_and_targets_are_checked() {
        for text in ["no colon", "a b: c", ": c", "a: \u{1}"] {
            assert!(header(text).is_err(), "{text}");
        }
        for text in ["", "a", "/a b", "/a\r\n"] {
            assert!(target(text).is_err(), "{text}");
        }
    }
}
