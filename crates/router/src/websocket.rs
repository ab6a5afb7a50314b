//! Which requests for WebSocket connections applications get to see (UNIT-COMPAT 23.5).

use crate::transaction::Request;

/// The status for a request that asks for a WebSocket connection in a way that nobody could accept; none for all
/// others.
pub(crate) fn refusal(request: Request<'_>) -> Option<u16> {
    let Request { head, bytes, .. } = request;
    if !head.wants_websocket() || head.method(bytes) != b"GET" {
        return None;
    }
    let value = |wanted: &[u8]| {
        let mut named = head.fields(bytes).filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
        named.next().map(|(_, value)| value)
    };
    // 16 bytes in Base64.
    if value(b"Sec-WebSocket-Key").is_none_or(|key| key.len() != 24) {
        return Some(400);
    }
    (value(b"Sec-WebSocket-Version") != Some(b"13")).then_some(426)
}
