//! Connections of the router to itself, on which it asks its own applications as a client does.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use corral_config::table::{InnerListener, Key};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use crate::generation::LoopGeneration;
use crate::generation::listener_settings::ListenerSettings;
use crate::io::AnySocket;

/// Where connections are made that the same event loop serves.
pub(crate) struct InternalEndpoint {
    callers: mpsc::UnboundedSender<InternalConnection>,
    served: RefCell<Option<mpsc::UnboundedReceiver<InternalConnection>>>,
}

/// The serving end of a connection.
pub(crate) struct InternalConnection {
    pub(crate) socket: AnySocket,
    pub(crate) settings: ListenerSettings,
    /// The client that the request is about; none for a Unix socket.
    pub(crate) client: Option<SocketAddr>,
}

impl InternalEndpoint {
    pub(super) fn new() -> Self {
        let (callers, served) = mpsc::unbounded_channel();
        Self { callers, served: RefCell::new(Some(served)) }
    }

    /// Connects to a listener within the router for a request of a client.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub(crate) fn connect(
        &self,
        generation: &Rc<LoopGeneration>,
        listener: Key<InnerListener>,
        client: Option<SocketAddr>,
    ) -> io::Result<AnySocket> {
        let (ours, theirs) = UnixStream::pair()?;
        let settings = ListenerSettings::inner(Rc::clone(generation), listener);
        // Without a task that serves, the other end is closed, which is seen like a server's end.
        let _ = self.callers.send(InternalConnection { socket: AnySocket::unix(theirs), settings, client });
        Ok(AnySocket::unix(ours))
    }

    /// The connections that are to be served; for one caller alone.
    pub(crate) fn connections(&self) -> mpsc::UnboundedReceiver<InternalConnection> {
        self.served.take().expect("an event loop has one task that serves its own connections")
    }
}
