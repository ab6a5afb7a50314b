//! A connection to a server: a socket, with or without TLS on top.

mod transport;

use std::io::{self, IoSlice};

use crate::io::{AnySocket, SocketInterest};
use crate::upstream::tls::session::ClientSession;

/// A connection to a server.
pub(crate) struct ServerConnection {
    socket: AnySocket,
    tls: Option<Box<ClientSession>>,
    n_requests: u32,
    /// The next bytes may be no answer to the next request.
    is_spoiled: bool,
}

impl ServerConnection {
    /// A connection without TLS, or with a session whose handshake is done.
    pub(crate) fn new(socket: AnySocket, tls: Option<Box<ClientSession>>) -> Self {
        Self { socket, tls, n_requests: 0, is_spoiled: false }
    }

    /// The socket, if nothing is on top of it.
    pub(crate) fn plain(&self) -> Option<&AnySocket> {
        self.tls.is_none().then_some(&self.socket)
    }

    /// Counts a request that is sent on it.
    pub(crate) fn begin_request(&mut self) {
        self.n_requests = self.n_requests.saturating_add(1);
    }

    /// Bars the connection from further use: the server may be out of step with this one.
    pub(crate) fn spoil(&mut self) {
        self.is_spoiled = true;
    }

    pub(crate) fn is_spoiled(&self) -> bool {
        self.is_spoiled
    }

    pub(crate) fn n_requests(&self) -> u32 {
        self.n_requests
    }

    /// Appends what there is to read, and waits for it; 0 at the end. Cancel safe.
    pub(crate) async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.read(buffer).await,
            Some(session) => session.read(&self.socket, buffer).await,
        }
    }

    /// Writes as much of the pieces as there is room for.
    pub(crate) fn try_write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.try_write(pieces),
            Some(session) => session.try_write(&self.socket, pieces),
        }
    }

    /// Writes all of it, and waits for room.
    pub(crate) async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.try_write(&[IoSlice::new(bytes)]) {
                Ok(n) => bytes = &bytes[n..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.ready(SocketInterest { bytes: false, room: true }).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends what was taken and is encrypted, as far as there is room.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(session) => session.flush(&self.socket),
        }
    }

    /// Waits until `read` has something to do. Cancel safe.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        if self.tls.as_ref().is_some_and(|session| session.wants_room()) {
            return Ok(());
        }
        self.socket.readable().await
    }

    /// Waits until it is ready for something that is wanted. Cancel safe.
    pub(crate) async fn ready(&self, mut wanted: SocketInterest) -> io::Result<SocketInterest> {
        wanted.room |= self.tls.as_ref().is_some_and(|session| session.wants_room());
        self.socket.wait(wanted).await
    }

    /// Whether nothing was received since the last response: neither the connection's end, nor bytes that were
    /// not asked for. Costs no system call unless there is something.
    pub(crate) fn is_quiet(&mut self) -> bool {
        match &mut self.tls {
            None => self.socket.is_quiet(),
            Some(session) => session.is_quiet(&self.socket),
        }
    }

    /// Whether something was received on a new connection before the first request. Costs as much as
    /// `is_quiet`.
    pub(crate) fn has_spoken(&mut self) -> bool {
        match &mut self.tls {
            None => matches!(self.socket.try_read(&mut [0]), Ok(1..)),
            Some(session) => session.has_spoken(&self.socket),
        }
    }

    /// Whether the other side has read all that was sent to it, as far as is known.
    pub(crate) fn is_heard(&self) -> bool {
        self.socket.is_heard()
    }

    /// Whether `is_heard` knows.
    pub(crate) fn tells_what_is_heard(&self) -> bool {
        matches!(self.socket, AnySocket::Unix(_))
    }

    /// Acknowledges what was received at once, as a server that gathers its writes (Nagle's algorithm) sends no more
    /// before.
    pub(crate) fn acknowledge(&self) {
        self.socket.acknowledge();
    }

    /// Whether the other side has closed the connection, and not only said that it sends nothing more.
    pub(crate) fn has_hung_up(&self) -> bool {
        self.socket.has_hung_up()
    }

    /// Has the connection reset when it is dropped: the server is to see that something broke.
    pub(crate) fn reset_on_drop(&self) {
        self.socket.reset_on_drop();
    }

    /// As `shut_down`, at once and for a socket that nothing is on top of.
    pub(crate) fn finish_writing(&self) -> io::Result<()> {
        self.socket.finish_writing()
    }

    /// Says that nothing more will be written.
    pub(crate) async fn shut_down(&mut self) -> io::Result<()> {
        if let Some(session) = &mut self.tls {
            session.say_goodbye(&self.socket);
        }
        self.socket.shut_down().await
    }
}
