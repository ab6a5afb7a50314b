//! Requests in the log.

use crate::exchange::Exchange;

/// A request's target, for the log.
pub(super) fn shown(exchange: &Exchange<'_>) -> String {
    let target = exchange.request.head.target(exchange.request.bytes);
    String::from_utf8_lossy(target).escape_debug().to_string()
}
