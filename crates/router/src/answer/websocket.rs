//! WebSocket connections to applications (RFC 6455, contract 23.5): the router keeps to the protocol, the
//! application has the messages.

mod app_websocket;
mod client_side;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use corral_http::request::{HttpVersion, RequestFraming};

pub(crate) use self::app_websocket::run;
pub(crate) use self::client_side::ClientSide;
use crate::request::head::ReceivedRequest;

/// The text that every accepted key is joined with (RFC 6455 section 1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Whether a request asks for a WebSocket connection as it is asked for.
pub(crate) fn is_wanted(request: ReceivedRequest<'_>) -> bool {
    let ReceivedRequest { head, bytes, .. } = request;
    head.wants_websocket()
        && head.version() >= HttpVersion::Http11
        && head.method(bytes) == b"GET"
        && head.framing() == RequestFraming::Length(0)
}

/// The status for a request that asks for a WebSocket connection in a way that cannot be accepted; none for all
/// others.
pub(crate) fn refusal(request: ReceivedRequest<'_>) -> Option<u16> {
    if !request.head.wants_websocket() {
        return None;
    }
    // 16 bytes in Base64.
    let has_key = key(request).is_some_and(|key| key.len() == 24);
    if !has_key || !is_wanted(request) {
        return Some(400);
    }
    // A client of another version may try again (RFC 6455 section 4.4).
    (field(request, b"Sec-WebSocket-Version") != Some(b"13")).then_some(426)
}

/// The answer to the client's key (RFC 6455 section 4.2.2).
pub(crate) fn accept(request: ReceivedRequest<'_>) -> String {
    let mut digest = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    digest.update(key(request).unwrap_or_default());
    digest.update(GUID);
    BASE64_STANDARD.encode(digest.finish())
}

fn key<'r>(request: ReceivedRequest<'r>) -> Option<&'r [u8]> {
    field(request, b"Sec-WebSocket-Key")
}

fn field<'r>(request: ReceivedRequest<'r>, wanted: &[u8]) -> Option<&'r [u8]> {
    let mut named = request.head.fields(request.bytes).filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
    named.next().map(|(_, value)| value)
}
