//! Why a server gave no answer, and what follows from that.

use std::io;
use std::time::Duration;

use corral_http::chunked::ChunkError;
use corral_http::upstream::ResponseError;
use corral_sys::process::is_descriptor_shortage;

/// What went wrong with a server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("the name has no known address")]
    Unresolved,
    #[error("connect: {0}")]
    Connect(io::Error),
    /// This server's fault, not the other one's.
    #[error("connect: {0}")]
    Exhausted(io::Error),
    #[error("no connection within {0:?}")]
    ConnectTimedOut(Duration),
    #[error("it sent something before it was asked")]
    Unasked,
    #[error("send the request: {0}")]
    Send(io::Error),
    #[error("it took nothing of the request for {0:?}")]
    SendTimedOut(Duration),
    #[error("receive the response: {0}")]
    Receive(io::Error),
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
    #[error("more than {0} responses before the response")]
    TooManyInterim(u32),
    #[error(transparent)]
    Response(#[from] ResponseError),
    #[error("the response's body: {0}")]
    Chunk(#[from] ChunkError),
    #[error("it switches to a protocol that nobody has asked for")]
    Switched,
}

/// What a failure permits, given that the request is still at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    /// It has not reached the server.
    Any,
    /// The server may have acted on it, so only if it may do that twice.
    Idempotent,
    Never,
}

impl Failure {
    /// What has kept a connection from being made.
    pub(crate) fn of_connecting(error: io::Error) -> Self {
        if is_descriptor_shortage(&error) { Self::Exhausted(error) } else { Self::Connect(error) }
    }

    /// Whether it says something about the server that was asked.
    pub(crate) fn is_theirs(&self) -> bool {
        !matches!(self, Self::Exhausted(_))
    }

    /// Whether what came is no response that could be passed on.
    pub(crate) fn is_nonsense(&self) -> bool {
        matches!(
            self,
            Self::Cut
                | Self::TooLarge(_)
                | Self::TooManyInterim(_)
                | Self::Response(_)
                | Self::Chunk(_)
                | Self::Switched
        )
    }

    /// The status of the reply (contract 13).
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::ConnectTimedOut(_)
            | Self::SendTimedOut(_)
            | Self::ResponseTimedOut(_)
            | Self::ReadTimedOut(_) => 504,
            Self::Exhausted(_) => 503,
            _ => 502,
        }
    }

    /// Whether another server may get the request. A server that takes too long does not count: the request
    /// would be as long with the next one, and a slow moment would become a heavy load for all.
    pub(crate) fn retry(&self) -> Retry {
        match self {
            Self::Unresolved | Self::Connect(_) | Self::ConnectTimedOut(_) | Self::Unasked => Retry::Any,
            Self::Send(_) | Self::Receive(_) | Self::Closed => Retry::Idempotent,
            _ => Retry::Never,
        }
    }
}
