//! The dashboard's page and its assets, and the headers that keep a browser from doing more with them than it has to.

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
    let detail = "This executable has no dashboard in it.";
    ApiReply::error_with_detail(StatusCode::NOT_FOUND, "Value doesn't exist.", detail)
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
