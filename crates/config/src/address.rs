//! Addresses that can be listened on (UNIT-COMPAT 6.1 names the forms).

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where a listener accepts connections.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ListenAddress {
    /// An IPv4 or IPv6 address and port; IPv6 sockets never accept IPv4.
    Inet(SocketAddr),
    /// A socket file.
    Unix(PathBuf),
    /// A name in Linux's abstract socket namespace, without the leading NUL.
    Abstract(Vec<u8>),
}
