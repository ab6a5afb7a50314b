//! The dashboard's page and its assets, and the headers that keep a browser from doing more with them than it has to.

use std::io::Read as _;

use bytes::Bytes;
use corral_dashboard::PageFile;
use corral_http::encoding::{Accepted, ContentCoding};
use flate2::read::GzDecoder;
use hyper::StatusCode;
use hyper::header::{self, HeaderName, HeaderValue};

use crate::api_request::ApiRequest;
use crate::reply::ApiReply;

/// Answers a request below `/dashboard` that is not about a session.
pub(crate) fn answer(call: &ApiRequest<'_>) -> ApiReply {
    let path = call.target.split(['?', '#']).next().unwrap_or_default();
    if path == "/dashboard" {
        let reply =
            ApiReply { status: StatusCode::MOVED_PERMANENTLY, ..ApiReply::success("See /dashboard/.") };
        return reply.with_field(header::LOCATION, HeaderValue::from_static("/dashboard/"));
    }
    match path.strip_prefix("/dashboard/").and_then(corral_dashboard::find) {
        Some(file) => send(call, file),
        None => ApiReply::missing(),
    }
}

fn send(call: &ApiRequest<'_>, file: &'static PageFile) -> ApiReply {
    let tag = format!("\"{}\"", file.tag);
    let keeping = if file.is_immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    let (coding, content) = coded(call.codings, file);
    let reply = match call.conditions.is_unchanged(&tag) {
        true => ApiReply::not_modified(),
        false => ApiReply::content(file.media_type, content),
    };
    let reply = reply
        .tagged(&tag)
        .with_field(header::CACHE_CONTROL, HeaderValue::from_static(keeping))
        .with_field(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    match coding {
        ContentCoding::Identity => reply,
        coding => reply.with_field(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name())),
    }
}

/// The content in the coding that the client likes best, or as it is.
fn coded(accepted: Accepted, file: &'static PageFile) -> (ContentCoding, Bytes) {
    match accepted.choose(&[ContentCoding::Br, ContentCoding::Gzip, ContentCoding::Identity]) {
        Some(coding @ ContentCoding::Br) => (coding, Bytes::from_static(file.brotli)),
        Some(coding @ ContentCoding::Gzip) => (coding, Bytes::from_static(file.gzip)),
        _ => (ContentCoding::Identity, unpacked(file.gzip)),
    }
}

fn unpacked(gzip: &[u8]) -> Bytes {
    let mut content = Vec::new();
    GzDecoder::new(gzip).read_to_end(&mut content).expect("it was compressed when this was built");
    content.into()
}

/// The fields of every answer below `/dashboard`: nothing of others is loaded or run, no other page shows this one in a
/// frame or learns of it.
pub(crate) const GUARDS: [(HeaderName, HeaderValue); 6] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Whether a path belongs to the dashboard.
pub(crate) fn is_below(segments: &[corral_config::json::Bytes]) -> bool {
    segments.first().is_some_and(|first| **first == *b"dashboard")
}
