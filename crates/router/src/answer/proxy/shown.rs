//! Requests in the log.

use crate::exchange::request::RoutedRequest;

/// A request's target, for the log.
pub(super) fn shown(request: &RoutedRequest<'_>) -> String {
    let target = request.received.head.target(request.received.bytes);
    String::from_utf8_lossy(target).escape_debug().to_string()
}
