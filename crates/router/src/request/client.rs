//! The client of a request, and that it is gone.

use std::net::SocketAddr;

/// The client of a request, as far as the configuration trusts what is said about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestClient {
    /// `None` for a Unix socket.
    pub(crate) address: Option<SocketAddr>,
    /// The client speaks TLS, to this server or to one in front of it.
    pub(crate) tls: bool,
}

/// The client's connection is of no use any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;
