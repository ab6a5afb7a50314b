//! Why a server gave no answer, and what follows from that.

use std::io;
use std::time::Duration;

use corral_cgi::fastcgi::RecordError;
use corral_cgi::response::ResponseHeadError;
use corral_http::chunked::ChunkError;
use corral_http::upstream::ResponseError;
use corral_sys::process::is_descriptor_shortage;
use h2::Reason;
use rustls::AlertDescription;

/// Kinds of failure of a server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerFailure {
    #[error("the name has no known address")]
    Unresolved,
    #[error("the name stands for addresses that are not in \"allow\"")]
    Forbidden,
    #[error("connect")]
    Connect(#[source] io::Error),
    /// This server's fault, not the other one's.
    #[error("connect")]
    Exhausted(#[source] io::Error),
    #[error("no connection within {0:?}")]
    ConnectTimedOut(Duration),
    #[error("it sent something before it was asked")]
    Unasked,
    #[error("send the request")]
    Send(#[source] io::Error),
    /// As many requests are with it as it has processes.
    #[error("no process has become free within {0:?}")]
    Occupied(Duration),
    #[error("it took nothing of the request for {0:?}")]
    SendTimedOut(Duration),
    #[error("receive the response")]
    Receive(#[source] io::Error),
    #[error("it closed the connection before it had sent a response")]
    Closed,
    #[error("it closed the connection within the response's head")]
    Cut,
    #[error("no response within {0:?}")]
    ResponseTimedOut(Duration),
    #[error("nothing of the response's body for {0:?}")]
    ReadTimedOut(Duration),
    #[error("the response's head is larger than {0} bytes")]
    TooLarge(usize),
    #[error("more than {0} bytes before the response's head")]
    Endless(u64),
    #[error("more than {0} responses before the response")]
    TooManyInterim(u32),
    #[error(transparent)]
    Response(#[from] ResponseError),
    #[error("the response's body has {came} bytes and its Content-Length says {said}")]
    WrongLength { said: u64, came: u64 },
    #[error("the response's body")]
    Chunk(#[from] ChunkError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    CgiHead(#[from] ResponseHeadError),
    #[error("it ended the request before it had sent a response")]
    Unanswered,
    /// A status of `retry_on`.
    #[error("it answers with status {0}")]
    Status(u16),
    #[error("it has no process for the request (FastCGI)")]
    Overloaded,
    #[error("it answers no requests (FastCGI)")]
    NoResponder,
    #[error("it switches to a protocol that was not asked for")]
    Switched,
    #[error("it does not agree to speak HTTP/2 (ALPN)")]
    NotAgreed,
    #[error("it does not speak HTTP/2")]
    NotHttp2(#[source] h2::Error),
    #[error("it permits no streams (HTTP/2)")]
    NoStreams,
    #[error("it takes no WebSocket over HTTP/2 (RFC 8441)")]
    NoTunnels,
    /// A part of the request.
    #[error("HTTP/2 has no place for what is in the request: {0}")]
    NotRepresentable(&'static str),
    /// The server says that it has not begun with the request.
    #[error("it does not take the request")]
    Refused(#[source] h2::Error),
    #[error("it ends the stream")]
    Reset(#[source] h2::Error),
    /// The server breaks the rules of the protocol.
    #[error("HTTP/2")]
    Http2(#[source] h2::Error),
}

/// The retry that a failure permits, given that the request is still at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    /// The request has not reached the server.
    Any,
    /// The server may have acted on it, so only if it may do that twice.
    Idempotent,
    Never,
}

impl ServerFailure {
    /// The failure of a connection that could not be made.
    pub(crate) fn of_connecting(error: io::Error) -> Self {
        if is_descriptor_shortage(&error) { Self::Exhausted(error) } else { Self::Connect(error) }
    }

    /// The failure of a handshake of TLS.
    pub(crate) fn of_handshake(error: io::Error) -> Self {
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
        match cause {
            Some(rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)) => Self::NotAgreed,
            _ => Self::Connect(error),
        }
    }

    /// The failure of a stream of HTTP/2 that has ended early.
    pub(crate) fn of_stream(error: h2::Error) -> Self {
        let is_untouched = error.is_go_away() || error.reason() == Some(Reason::REFUSED_STREAM);
        if error.is_remote() && is_untouched {
            Self::Refused(error)
        } else if error.is_remote() && error.is_reset() {
            Self::Reset(error)
        } else if error.is_io() {
            Self::Receive(error.into_io().unwrap_or(io::ErrorKind::BrokenPipe.into()))
        } else {
            Self::Http2(error)
        }
    }

    /// Whether it says something about the server that was asked.
    pub(crate) fn is_theirs(&self) -> bool {
        match self {
            Self::Exhausted(_) | Self::NotRepresentable(_) => false,
            // Others are answers to the request.
            Self::Status(status) => *status == 429 || *status >= 500,
            _ => true,
        }
    }

    /// Whether what came is not a response that could be passed on.
    pub(crate) fn is_nonsense(&self) -> bool {
        matches!(
            self,
            Self::Cut
                | Self::TooLarge(_)
                | Self::Endless(_)
                | Self::TooManyInterim(_)
                | Self::Response(_)
                | Self::Chunk(_)
                | Self::Record(_)
                | Self::CgiHead(_)
                | Self::Unanswered
                | Self::Switched
                | Self::Http2(_)
        )
    }

    /// Whether it has taken too long.
    pub(crate) fn is_late(&self) -> bool {
        self.status() == 504
    }

    /// The status of the reply (contract 13).
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::ConnectTimedOut(_)
            | Self::Occupied(_)
            | Self::SendTimedOut(_)
            | Self::ResponseTimedOut(_)
            | Self::ReadTimedOut(_) => 504,
            Self::Exhausted(_) | Self::Overloaded => 503,
            _ => 502,
        }
    }

    /// Whether another server may get the request. A server that takes too long does not count: the request
    /// would be as long with the next one, and a slow moment would become a heavy load for all.
    pub(crate) fn retry(&self) -> Retry {
        match self {
            Self::Unresolved | Self::Connect(_) | Self::ConnectTimedOut(_) | Self::Unasked => Retry::Any,
            Self::Overloaded => Retry::Any,
            Self::NotAgreed | Self::NotHttp2(_) | Self::NoStreams | Self::NoTunnels | Self::Refused(_) => {
                Retry::Any
            }
            Self::Send(_) | Self::Receive(_) | Self::Closed | Self::Reset(_) | Self::Status(_) => {
                Retry::Idempotent
            }
            _ => Retry::Never,
        }
    }
}
