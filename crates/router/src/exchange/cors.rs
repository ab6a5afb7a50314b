//! `cors`, on a request's way and in its reply.
//!
//! The headers of CORS are the last that a reply gets, so that every reply has them, error pages too, and none of the
//! application's remain.

use super::request::RoutedRequest;
use crate::reply::ReplyFields;
use crate::reply::cors::{self, Preflight};
use crate::request::routing::route_progress::RouteProgress;

/// Whether it is a preflight request that is answered here. From the first action with `cors` on, nothing on the
/// way refuses it: such requests never have credentials.
#[inline]
pub(super) fn is_preflight(request: &RoutedRequest<'_>, route: &RouteProgress<'_>) -> bool {
    asks_first(request) && !route.answers_in_place() && route.cors().is_some()
}

/// Whether a browser asks what a request of another site may be like, before it sends that.
fn asks_first(request: &RoutedRequest<'_>) -> bool {
    request.method() == b"OPTIONS"
        && request.values(b"Origin").next().is_some()
        && request.values(b"Access-Control-Request-Method").next().is_some()
}

/// Tells browsers whose scripts may read the reply.
pub(super) fn share_with_origin(
    request: &RoutedRequest<'_>,
    route: &RouteProgress<'_>,
    fields: &mut ReplyFields,
) {
    let Some(cors) = route.cors() else { return };
    let mut origins = request.values(b"Origin");
    // No browser sends two.
    let origin = origins.next().filter(|_| origins.next().is_none());
    let preflight = asks_first(request).then(|| Preflight {
        method: request.values(b"Access-Control-Request-Method").next().unwrap_or_default(),
        headers: request.values(b"Access-Control-Request-Headers").next().unwrap_or_default(),
    });
    cors::apply(fields, cors, origin, preflight.as_ref());
}
