//! The error of responses whose reader has left.

/// The response is not read any more: the client went away, or the server is stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
pub struct ClientGone;
