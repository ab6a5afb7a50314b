//! Client connections of all kinds behind one face: sockets, with or without TLS on top.

pub(crate) mod session;
pub(crate) mod socket;

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::ServerConfig;

use self::session::{ServerSession, SessionError};
pub(crate) use self::socket::{AnySocket, SocketInterest};

/// Bytes given to the kernel in one call of `sendfile`, so that one client does not hold up the others.
const SEND_FILE_STEP: u64 = 512 * 1024;

/// How often the kernel is asked whether something was delivered, which it does not tell by itself.
const DELIVERY_STEP: Duration = Duration::from_millis(20);

/// A client's connection.
pub(crate) struct ClientStream {
    socket: AnySocket,
    /// In a box, so that connections without it stay small.
    tls: Option<Box<ServerSession>>,
}

impl ClientStream {
    pub(crate) fn new(socket: AnySocket) -> Self {
        Self { socket, tls: None }
    }

    /// TLS, once it is spoken.
    pub(crate) fn tls(&self) -> Option<&ServerSession> {
        self.tls.as_deref()
    }

    /// Begins to speak TLS. What was `received` already comes before what is still to be read, and is left
    /// empty or with the first decrypted bytes.
    pub(crate) async fn start_tls(
        &mut self,
        config: Arc<ServerConfig>,
        received: &mut Vec<u8>,
    ) -> Result<(), SessionError> {
        let session = self.tls.insert(Box::new(ServerSession::new(config, std::mem::take(received))?));
        session.handshake(&mut self.socket, received).await
    }

    /// The client has said that it sends nothing more, in a way that the socket does not show.
    pub(crate) fn is_read(&self) -> bool {
        self.tls().is_some_and(ServerSession::is_read)
    }

    /// Waits until there is something to read, or the client has closed. Cancel safe.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        self.socket.readable().await
    }

    pub(crate) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_readable(context)
    }

    /// Appends what there is to read; 0 at the end. Cancel safe.
    pub(crate) async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.read(buffer).await,
            Some(session) => session.read(&mut self.socket, buffer).await,
        }
    }

    /// Tells a client now that what it has sent was received, see [`AnySocket::acknowledge`].
    pub(crate) fn acknowledge(&self) {
        self.socket.acknowledge();
    }

    /// Reads bytes that are of no use, encrypted or not; 0 at the end. Cancel safe.
    pub(crate) async fn discard(&mut self, scratch: &mut Vec<u8>) -> io::Result<usize> {
        scratch.clear();
        self.socket.read(scratch).await
    }

    /// Waits until the connection is broken. Cancel safe.
    pub(crate) async fn broken(&self) {
        self.socket.broken().await;
    }

    /// Waits until the connection is broken, or the client has sent nothing more for so long. Cancel safe, and begins
    /// anew.
    pub(crate) async fn finished_for(&self, limit: Duration) {
        self.finished().await;
        // Whichever it is: the client is gone.
        let _ = tokio::time::timeout(limit, self.broken()).await;
    }

    /// Whether the kernel has something to read, or the end.
    pub(crate) fn has_arrived(&self) -> bool {
        self.socket.has_arrived()
    }

    /// Waits until the client has said that it sends nothing more, or is gone. What it has sent on before is for later.
    /// Cancel safe.
    pub(crate) async fn finished(&self) {
        // Cheaper to wait for than the end alone, and nearly always neither comes.
        if !self.is_read() && self.readable().await.is_ok() {
            self.socket.finished().await;
        }
    }

    /// As `read`, which loses nothing with its future and is woken by what the socket remembers.
    pub(crate) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        let polled = pin!(self.read(buffer)).poll(context);
        if polled.is_pending()
            && let Some(session) = &mut self.tls
        {
            session.rest();
        }
        polled
    }

    /// Waits until there is something of what is wanted.
    pub(crate) fn poll_wait(
        &self,
        context: &mut Context<'_>,
        wanted: SocketInterest,
    ) -> Poll<io::Result<SocketInterest>> {
        if wanted.bytes && self.is_read() {
            return Poll::Ready(Ok(SocketInterest { bytes: true, room: false }));
        }
        if wanted.bytes && self.tls().is_some_and(ServerSession::wants_room) {
            // What is encrypted goes out before anything is read.
            return self.poll_writable(context).map_ok(|()| wanted);
        }
        let bytes = wanted.bytes && self.socket.poll_readable(context)?.is_ready();
        let room = wanted.room && self.socket.poll_writable(context)?.is_ready();
        if bytes || room { Poll::Ready(Ok(SocketInterest { bytes, room })) } else { Poll::Pending }
    }

    /// Waits until there is room to write.
    pub(crate) fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_writable(context)
    }

    /// Writes as much of the pieces as there is room for. After `WouldBlock` the next call must begin with
    /// the same bytes: with TLS they have been encrypted, and are still to be sent.
    pub(crate) fn try_write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.try_write(pieces),
            Some(session) => session.try_write(&self.socket, pieces),
        }
    }

    /// Writes as much of a head as there is room for, and lets the kernel join it with what follows, which
    /// must be something.
    pub(crate) fn try_write_more(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.try_write_more(bytes),
            Some(session) => Ok(session.hold(bytes)),
        }
    }

    /// Encrypts many bytes, to be sent with what comes next; returns how many wait by then, or none without TLS.
    pub(crate) fn gather(&mut self, bytes: &[u8]) -> Option<io::Result<usize>> {
        self.tls.as_mut().map(|session| session.gather(bytes))
    }

    /// Sends what was gathered, as far as there is room.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |session| session.flush(&self.socket))
    }

    /// Sends a piece of a file; returns how much of it. After `WouldBlock` as `try_write`.
    pub(crate) fn try_send_file(&mut self, file: &File, offset: u64, len: u64) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.try_send_file(file, offset, len.min(SEND_FILE_STEP) as usize),
            Some(session) => session.try_send_file(&self.socket, file, offset, len),
        }
    }

    /// Has what is sent from now on travel with the end of the connection, which must come at once.
    pub(crate) fn cork(&self) {
        self.socket.cork();
    }

    /// Says that nothing more will be written.
    pub(crate) async fn shut_down(&mut self) -> io::Result<()> {
        self.say_goodbye();
        self.socket.shut_down().await
    }

    /// Tells a client that speaks TLS that this is the end, and no attack, if there is room for it.
    pub(crate) fn say_goodbye(&mut self) {
        if let Some(session) = &mut self.tls {
            session.close(&self.socket);
        }
    }

    /// Waits until the client's system has all that was sent. Cancel safe.
    pub(crate) async fn delivered(&self) {
        while self.socket.has_undelivered() {
            tokio::time::sleep(DELIVERY_STEP).await;
        }
    }

    /// Has the connection reset when it is dropped: the client is to see that something broke.
    pub(crate) fn reset_on_drop(&self) {
        self.socket.reset_on_drop();
    }

    /// The address that the client connected to; none for a Unix socket.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        self.socket.local_address()
    }
}

/// The output of a future that need not wait.
pub(crate) async fn now<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| {
        Poll::Ready(match future.as_mut().poll(context) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}
