//! Events of a request, before they are objects of Python: parts of its body, messages, and the end of its client.

use corral_channel::Opcode;
use corral_worker::{AsyncChannel, Body, RequestKey, ResponsePhase};

/// Close codes (RFC 6455 section 7.4.1).
pub(super) const NORMAL: u16 = 1000;
const ABNORMAL: u16 = 1006;

/// How far a WebSocket connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Socket {
    /// A client wants to connect.
    Connecting,
    /// The application has accepted.
    Open,
    /// The application answers as it answers a request.
    Denied,
    Closed,
}

/// An event, before it is an object of Python.
pub(super) enum ClientEvent {
    Body(Body, bool),
    Gone,
    Connect,
    Message { is_text: bool, bytes: Vec<u8> },
    Disconnect { code: u16, reason: Vec<u8> },
}

/// The next part of the body, or that there is no other.
pub(super) fn next_body(
    is_body_taken: &mut bool,
    channel: &mut AsyncChannel,
    key: RequestKey,
) -> Option<ClientEvent> {
    if !*is_body_taken && let Some((bytes, is_all)) = channel.take_body(key) {
        *is_body_taken = is_all;
        return Some(ClientEvent::Body(bytes, !is_all));
    }
    (channel.is_gone(key) || channel.phase(key) == ResponsePhase::Ended).then_some(ClientEvent::Gone)
}

/// The next message, or the end of the connection.
pub(super) fn next_message(
    socket: &mut Socket,
    channel: &mut AsyncChannel,
    key: RequestKey,
) -> Option<ClientEvent> {
    match channel.take_message(key) {
        Some(message) if message.opcode == Opcode::Close => {
            *socket = Socket::Closed;
            let (code, reason) = match &message.bytes[..] {
                [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason.to_vec()),
                // RFC 6455 section 7.1.5.
                _ => (1005, Vec::new()),
            };
            Some(ClientEvent::Disconnect { code, reason })
        }
        Some(message) => {
            Some(ClientEvent::Message { is_text: message.opcode == Opcode::Text, bytes: message.bytes })
        }
        None if channel.is_gone(key) || channel.phase(key) == ResponsePhase::Ended => {
            let code = if *socket == Socket::Closed { NORMAL } else { ABNORMAL };
            *socket = Socket::Closed;
            Some(ClientEvent::Disconnect { code, reason: Vec::new() })
        }
        None => None,
    }
}
