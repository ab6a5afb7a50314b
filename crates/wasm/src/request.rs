//! A request as `wasi:http` has it.

use bytes::Bytes;
use corral_channel::message::RequestView;
use corral_worker::cgi;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::header::{CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::{Authority, PathAndQuery};
use hyper::{Method, Request, Uri, http};
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;

/// The scheme that the client used.
pub(crate) fn scheme(view: &RequestView<'_>) -> Scheme {
    if view.head.tls { Scheme::Https } else { Scheme::Http }
}

/// The request of a client.
///
/// # Errors
/// When it cannot be told in these terms, which are a little narrower than the router's.
pub(crate) fn request(
    view: &RequestView<'_>,
    body: UnsyncBoxBody<Bytes, Error>,
) -> http::Result<Request<UnsyncBoxBody<Bytes, Error>>> {
    let fields = fields(view)?;
    let mut request = Request::new(body);
    *request.method_mut() = Method::from_bytes(view.head.method)?;
    *request.uri_mut() = Uri::builder()
        .scheme(if view.head.tls { "https" } else { "http" })
        .authority(authority(view, fields.get(HOST))?)
        .path_and_query(target(view.head.target)?)
        .build()?;
    *request.headers_mut() = fields;
    Ok(request)
}

/// As received, each as often as it was sent.
fn fields(view: &RequestView<'_>) -> http::Result<HeaderMap> {
    let mut fields = HeaderMap::with_capacity(view.fields.len() + 1);
    for (name, value) in view.fields {
        fields.append(HeaderName::from_bytes(name)?, HeaderValue::from_bytes(value)?);
    }
    // Of a body that came in chunks, the length is known by now.
    if let (Some(length), None) = (view.head.content_length, fields.get(CONTENT_LENGTH)) {
        fields.insert(CONTENT_LENGTH, length.into());
    }
    Ok(fields)
}

/// The authority that the client has asked; without a name, the address that it has connected to.
fn authority(view: &RequestView<'_>, host: Option<&HeaderValue>) -> http::Result<Authority> {
    if let Some(named) = host.and_then(|host| Authority::try_from(host.as_bytes()).ok()) {
        return Ok(named);
    }
    let mut text = cgi::server_name(&view.head).to_vec();
    text.push(b':');
    text.extend_from_slice(cgi::server_port(&view.head, &mut itoa::Buffer::new()).as_bytes());
    Ok(Authority::try_from(text.as_slice())?)
}

/// Path and query; what has no place in them is escaped.
fn target(raw: &[u8]) -> http::Result<PathAndQuery> {
    if let Ok(target) = PathAndQuery::try_from(raw) {
        return Ok(target);
    }
    let escape = |byte: u8| match byte {
        b'!' | b'$'..=b';' | b'=' | b'?'..=b'Z' | b'_' | b'a'..=b'z' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    Ok(PathAndQuery::try_from(raw.iter().copied().map(escape).collect::<String>())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_as_received_unless_they_cannot_be() {
        assert_eq!(target(b"/a%20b?c=d&e=%2F").unwrap().as_str(), "/a%20b?c=d&e=%2F");
        assert_eq!(target(b"/a b?c d").unwrap().as_str(), "/a%20b?c%20d");
        assert_eq!(target(b"/\x80\x01").unwrap().as_str(), "/%80%01");
    }
}
