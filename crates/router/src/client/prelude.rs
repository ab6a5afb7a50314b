//! The bytes before the first request of a connection: the PROXY protocol, then TLS.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use corral_http::proxy_protocol::{self, ProxiedClient, ProxyHeaderError};
use corral_ipc::message::TlsFailure;

use crate::client::handshake::HandshakeCount;
use crate::generation::listener_settings::ListenerSettings;
use crate::io::ClientStream;
use crate::io::session::{ServerSession, SessionError};
use crate::tls::NoCertificate;

/// The type of the record that every client that speaks TLS begins with.
const HANDSHAKE_RECORD: u8 = 0x16;

/// The longest content of a record that is not encrypted.
const MAX_RECORD: usize = 16 * 1024;

/// The state of a connection after its prelude.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PreludeOutcome {
    /// A request has begun.
    Ready,
    /// Neither has begun yet.
    Waiting,
    /// Something else than TLS has begun, though TLS is spoken.
    PlainOnTls,
    /// The client has too many connections; without TLS it can be told.
    Refused,
    /// No certificate is there for the client, which knows that; it may still send.
    NoCertificate(NoCertificate),
    /// The handshake was all that the client wanted.
    Validated,
    /// Nothing can be said any more; the client may still send.
    Broken,
    /// The client is gone.
    Gone,
}

/// Prepares a connection, and says when a handshake has `begun` and how it ends; `input` holds the first bytes of a
/// request afterwards, if they have come.
pub(crate) async fn run(
    stream: &mut ClientStream,
    peer: &mut Option<SocketAddr>,
    admit: impl FnOnce(Option<SocketAddr>) -> bool,
    (begun, mut handshake): (impl FnOnce(), HandshakeCount<'_>),
    settings: &ListenerSettings,
    input: &mut Vec<u8>,
) -> PreludeOutcome {
    if let Some(source) = &settings.listener().proxy_protocol
        && source.matches(*peer)
    {
        match read_header(stream, input).await {
            // The peer speaks for itself: it looks after its clients, as with health checks.
            Ok(ProxiedClient::Connection) => {}
            Ok(ProxiedClient::Address(address)) => {
                *peer = Some(address);
                if !admit(*peer) {
                    return if settings.tls().is_some() {
                        PreludeOutcome::Gone
                    } else {
                        PreludeOutcome::Refused
                    };
                }
            }
            Ok(ProxiedClient::Unix) => *peer = None,
            Err(PreludeError::Gone) => return PreludeOutcome::Gone,
            Err(PreludeError::Header(error)) => {
                tracing::warn!("{}: {error}; the connection is closed", ShownPeer(*peer));
                return PreludeOutcome::Gone;
            }
        }
    }
    let Some(tls) = settings.tls() else { return ready(input) };
    // A session takes far more memory than a greeting, which many clients may be slow to send.
    while !holds_record(input) {
        handshake.note_input(input);
        acknowledge_part(stream, input);
        if !matches!(stream.read(input).await, Ok(n) if n > 0) {
            handshake.fail(TlsFailure::Closed);
            return PreludeOutcome::Gone;
        }
    }
    handshake.note_input(input);
    if input[0] != HANDSHAKE_RECORD {
        handshake.fail(TlsFailure::Plain);
        return PreludeOutcome::PlainOnTls;
    }
    begun();
    let started = stream.start_tls(tls.config_for(input), input).await;
    handshake.end(started.as_ref().map(|_| stream.tls()));
    match started {
        Ok(()) if stream.tls().is_some_and(ServerSession::was_challenge) => PreludeOutcome::Validated,
        Ok(()) => ready(input),
        Err(SessionError::NoCertificate(reason)) => PreludeOutcome::NoCertificate(reason),
        Err(SessionError::Failed(error)) => {
            tracing::info!("{}: the TLS handshake failed: {error}", ShownPeer(*peer));
            if error.kind() == io::ErrorKind::InvalidData {
                PreludeOutcome::Broken
            } else {
                PreludeOutcome::Gone
            }
        }
        Err(SessionError::Start(error)) => {
            tracing::error!("start TLS: {error}");
            PreludeOutcome::Gone
        }
    }
}

/// Whether a whole record has come, or what cannot become one that a client may begin with.
fn holds_record(input: &[u8]) -> bool {
    let &[kind, _, _, high, low, ref content @ ..] = input else {
        return input.first().is_some_and(|kind| *kind != HANDSHAKE_RECORD);
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    kind != HANDSHAKE_RECORD || length > MAX_RECORD || content.len() >= length
}

fn ready(input: &[u8]) -> PreludeOutcome {
    if input.is_empty() { PreludeOutcome::Waiting } else { PreludeOutcome::Ready }
}

/// Why there is no PROXY protocol header.
enum PreludeError {
    Gone,
    Header(ProxyHeaderError),
}

/// Reads a PROXY protocol header and takes it off the input.
async fn read_header(stream: &mut ClientStream, input: &mut Vec<u8>) -> Result<ProxiedClient, PreludeError> {
    loop {
        if let Some(header) = proxy_protocol::parse(input).map_err(PreludeError::Header)? {
            input.drain(..header.len);
            return Ok(header.source);
        }
        acknowledge_part(stream, input);
        if !matches!(stream.read(input).await, Ok(n) if n > 0) {
            return Err(PreludeError::Gone);
        }
    }
}

/// Acknowledges a part of what is waited for: the client may send the rest no sooner.
fn acknowledge_part(stream: &ClientStream, input: &[u8]) {
    if !input.is_empty() {
        stream.acknowledge();
    }
}

/// A peer's address as log lines show it.
pub(crate) struct ShownPeer(pub(crate) Option<SocketAddr>);

impl fmt::Display for ShownPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("unix:"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_begins_with_a_whole_record() {
        let record = b"\x16\x03\x01\x00\x02ab";
        for len in 0..record.len() {
            assert!(!holds_record(&record[..len]), "{len}");
        }
        assert!(holds_record(record) && holds_record(b"\x16\x03\x01\x00\x02abc"));
    }

    #[test]
    fn what_cannot_become_one_is_not_waited_for() {
        assert!(holds_record(b"G") && holds_record(b"GET / HTTP/1.1"));
        assert!(holds_record(b"\x16\x03\x01\x40\x01"));
        assert!(!holds_record(b"\x16\x03\x01\x40\x00"));
    }
}
