//! One client connection: what it has between requests and during them.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use corral_ipc::log::ConnectionId;

use crate::client::listener_handle::ListenerHandle;
use crate::clock::deadline::Deadline;
use crate::counters::connections::OpenConnection;
use crate::io::ClientStream;
use crate::services::LoopServices;
use crate::services::admission::ConnectionPermit;

/// A client's connection between and during requests. Kept small: tens of thousands of them wait.
pub(crate) struct ClientConnection {
    pub(super) open: OpenConnection,
    /// The connection's name in log lines.
    pub(super) id: ConnectionId,
    pub(crate) services: Rc<LoopServices>,
    pub(crate) handle: Rc<ListenerHandle>,
    pub(crate) stream: ClientStream,
    pub(crate) deadline: Deadline,
    /// The client's address, as the PROXY protocol has it if that is spoken; none for a Unix socket.
    pub(crate) peer: Option<SocketAddr>,
    /// The PROXY protocol and the handshake, if there are any, are done.
    pub(super) is_prepared: bool,
    /// Requests so far, the one that is answered among them.
    pub(super) n_requests: u32,
    /// The last request had a body that is worth a large buffer.
    pub(crate) sends_much: bool,
    pub(super) permit: ConnectionPermit,
    /// A copy of the event loop's, if it is only told why it is refused.
    pub(super) refused: Option<Rc<()>>,
}

/// The fate of the connection after a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterRequest {
    /// The connection is kept for the next request.
    Keep,
    /// The client speaks HTTP/2, and has sent this.
    Http2(Vec<u8>),
    /// The connection ends here: everything was said and read, or nothing can be any more.
    Close,
    /// Everything was said, but the client may still send: it gets the time to read first.
    Linger,
}

impl ClientConnection {
    pub(crate) fn new(
        services: Rc<LoopServices>,
        handle: Rc<ListenerHandle>,
        stream: ClientStream,
        peer: Option<SocketAddr>,
        permit: ConnectionPermit,
    ) -> Self {
        let deadline = services.deadlines.add(handle.id());
        Self {
            open: OpenConnection::accepted(&services.counters),
            id: next_id(),
            services,
            handle,
            stream,
            deadline,
            peer,
            is_prepared: false,
            n_requests: 0,
            sends_much: false,
            permit,
            refused: None,
        }
    }

    /// Has the first request answered by an error, as there are too many connections.
    pub(crate) fn refuse(&mut self) {
        self.refused = Some(Rc::clone(&self.services.refusing));
    }

    /// When the event loop woke up for what is being done.
    pub(crate) fn now(&self) -> Instant {
        self.services.deadlines.now()
    }
}

/// Numbers count up from 1 over all event loops.
fn next_id() -> ConnectionId {
    static LAST: AtomicU64 = AtomicU64::new(0);
    ConnectionId::MIN.saturating_add(LAST.fetch_add(1, Ordering::Relaxed))
}
