//! Connections that go to servers as they are, whatever is spoken on them: below HTTP, which knows nothing of it.
//!
//! `client` accepts a connection, reads what comes before (the PROXY protocol, TLS) and logs its end. In between,
//! `attempts` finds a server of the group that takes it, and `relay` passes bytes on in both directions: a buffer for
//! each as long as there is something in it, and nothing is read while the other side takes nothing. What one side does
//! with its connection is done with the other one: an end of what it sends, a reset. `hello` reads which host name a
//! client of TLS asks for, where that decides about the servers. `sessions` does for datagrams what the others do for
//! connections.

mod attempts;
mod hello;
mod record;
mod relay;
mod sessions;

use std::net::SocketAddr;

use corral_http::proxy_protocol::ProxiedConnection;

pub(crate) use self::attempts::{NoServer, PassedConnection, connect};
pub(crate) use self::hello::{ClientHello, HelloError, fuzz_server_name, read_hello};
pub(crate) use self::record::{ConnectionEnd, ConnectionRecord, ConnectionVariables, TCP, UDP};
pub(crate) use self::relay::{Relay, RelayEnd};
pub(crate) use self::sessions::{Session, SessionKey, Sessions};
use crate::clock::deadline::Deadline;
use crate::io::ClientStream;
use crate::services::LoopServices;

/// A client whose connection is passed on.
pub(crate) struct RawClient<'c> {
    pub(crate) services: &'c LoopServices,
    pub(crate) stream: &'c mut ClientStream,
    pub(crate) deadline: &'c Deadline,
    /// As the PROXY protocol has it if that is spoken; none for a Unix socket.
    pub(crate) peer: Option<SocketAddr>,
}

impl RawClient<'_> {
    /// The client and the address that it has connected to, for servers that are told of them.
    fn addresses(&self) -> Option<ProxiedConnection> {
        Some(ProxiedConnection { source: self.peer?, destination: self.stream.local_address()? })
    }
}
