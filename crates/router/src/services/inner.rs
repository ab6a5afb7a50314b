//! Connections of the router to itself, on which it asks its own applications as a client does.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use tokio::net::UnixStream;
use tokio::sync::mpsc;

use crate::generation::LoopGeneration;
use crate::generation::slot_settings::SlotSettings;
use crate::io::Socket;

/// Where connections are made that the same event loop serves.
pub(crate) struct InnerDoor {
    callers: mpsc::UnboundedSender<InnerConnection>,
    served: RefCell<Option<mpsc::UnboundedReceiver<InnerConnection>>>,
}

/// The serving end of a connection.
pub(crate) struct InnerConnection {
    pub(crate) socket: Socket,
    pub(crate) settings: SlotSettings,
    /// Whom the request is about; none for a Unix socket.
    pub(crate) client: Option<SocketAddr>,
}

impl InnerDoor {
    pub(super) fn new() -> Self {
        let (callers, served) = mpsc::unbounded_channel();
        Self { callers, served: RefCell::new(Some(served)) }
    }

    /// Connects to a listener of `Config::inner_listeners`, by its index there, for a request of a client.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub(crate) fn connect(
        &self,
        generation: &Rc<LoopGeneration>,
        listener: usize,
        client: Option<SocketAddr>,
    ) -> io::Result<Socket> {
        let (ours, theirs) = UnixStream::pair()?;
        let settings = SlotSettings::inner(Rc::clone(generation), listener);
        // Without anybody who serves, the other end is closed, which is seen like a server's end.
        let _ = self.callers.send(InnerConnection { socket: Socket::unix(theirs), settings, client });
        Ok(Socket::unix(ours))
    }

    /// The connections that are to be served; for one caller alone.
    pub(crate) fn connections(&self) -> mpsc::UnboundedReceiver<InnerConnection> {
        self.served.take().expect("an event loop has one task that serves its own connections")
    }
}
