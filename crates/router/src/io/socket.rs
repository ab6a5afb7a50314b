//! Sockets of both kinds behind one face.

mod accepted;
mod local;

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use corral_sys::file::sendfile;
use corral_sys::poll;
use corral_sys::socket::{
    cork, finish_writing, has_unread, receive, receive_local, reset_on_close, send_more, send_pieces,
    send_some, stop_reading,
};
use tokio::io::{AsyncWriteExt, Interest, Ready};
use tokio::net::{TcpStream, UnixStream};

use self::accepted::AcceptedStream;
use self::local::LocalStream;

/// Room that is made in a full buffer before something is read into it.
const LEAST_ROOM: usize = 64;

/// A socket of a client or a server.
pub(crate) enum AnySocket {
    Tcp(TcpStream),
    Accepted(AcceptedStream),
    Unix(LocalStream),
}

/// Readiness that is waited for, or that there is: something to read (the end is something too), room to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SocketInterest {
    pub(crate) bytes: bool,
    pub(crate) room: bool,
}

impl SocketInterest {
    fn interest(self) -> Option<Interest> {
        match (self.bytes, self.room) {
            (true, true) => Some(Interest::READABLE | Interest::WRITABLE),
            (true, false) => Some(Interest::READABLE),
            (false, true) => Some(Interest::WRITABLE),
            (false, false) => None,
        }
    }

    fn of(ready: Ready) -> Self {
        Self {
            bytes: ready.is_readable() || ready.is_read_closed(),
            room: ready.is_writable() || ready.is_write_closed(),
        }
    }
}

impl AnySocket {
    /// One that was accepted and does not block.
    pub(crate) fn accepted(stream: StdTcpStream) -> Self {
        Self::Accepted(AcceptedStream::new(stream))
    }

    /// Has the event loop watch one that was not waited for yet.
    ///
    /// # Errors
    /// When the system does not take it.
    pub(crate) fn watch(&self) -> io::Result<()> {
        if let Self::Accepted(stream) = self { stream.watched().map(drop) } else { Ok(()) }
    }

    /// A socket to which descriptors cannot have been sent, where the kernel refuses them.
    pub(crate) fn unix(stream: UnixStream) -> Self {
        Self::Unix(LocalStream::refusing(stream))
    }

    /// The same of one that an application has made.
    pub(crate) fn of_application(stream: UnixStream) -> Self {
        Self::Unix(LocalStream::foreign(stream))
    }

    /// Waits until there is something to read, or the client has closed. Cancel safe. For one task at a time,
    /// which is why the socket need not keep a list of them.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        poll_fn(|context| self.poll_readable(context)).await
    }

    pub(crate) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(context),
            Self::Accepted(stream) => stream.poll_read_ready(context),
            Self::Unix(stream) => stream.poll_read_ready(context),
        }
    }

    /// Appends what there is to read; 0 at the end. Cancel safe.
    pub(crate) async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        poll_fn(|context| {
            loop {
                ready!(self.poll_readable(context))?;
                match self.receive(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    received => return Poll::Ready(received),
                }
            }
        })
        .await
    }

    /// Appends what there is to read, without waiting; 0 at the end.
    pub(crate) fn receive(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        if buffer.len() == buffer.capacity() {
            buffer.reserve(LEAST_ROOM);
        }
        let room = buffer.capacity() - buffer.len();
        let is_local = matches!(self, Self::Unix(_));
        let mut received = 0;
        let tried = self.try_io(Interest::READABLE, |socket| {
            let may_have_more;
            (received, may_have_more) = match is_local {
                true => receive_local(socket, buffer)?,
                false => (receive(socket, buffer)?, false),
            };
            // All that there was did not fill the room: nothing is left, and no read need find that out by trying.
            let is_drained = (1..room).contains(&received) && !may_have_more;
            if is_drained { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        match tried {
            Err(error) if received == 0 => Err(error),
            _ => Ok(received),
        }
    }

    /// Does something that the socket seems to be ready for; it is not any more when the answer is `WouldBlock`.
    fn try_io<T>(
        &self,
        interest: Interest,
        act: impl FnOnce(BorrowedFd<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        match self {
            Self::Tcp(stream) => stream.try_io(interest, || act(stream.as_fd())),
            Self::Accepted(stream) => stream.try_io(interest, act),
            Self::Unix(stream) => stream.try_io(interest, || act(stream.as_fd())),
        }
    }

    /// Acknowledges what was received at once. A client that gathers its writes (Nagle's algorithm) sends no request
    /// before, which is 40 ms when this side has nothing to say.
    pub(crate) fn acknowledge(&self) {
        // It would only be faster.
        let _ = match self {
            Self::Tcp(stream) => stream.set_quickack(true),
            Self::Accepted(stream) => stream.watched().and_then(|stream| stream.set_quickack(true)),
            Self::Unix(_) => Ok(()),
        };
    }

    /// Reads what there is without waiting.
    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_read(buffer),
            Self::Accepted(stream) => stream.watched()?.try_read(buffer),
            Self::Unix(stream) => stream.try_read(buffer),
        }
    }

    /// Whether there is neither anything to read nor the end. Costs no system call unless there is.
    pub(crate) fn is_quiet(&self) -> bool {
        matches!(self.try_read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Whether the other side has read all that was sent to it, as far as the kernel tells that: for Unix sockets.
    pub(crate) fn is_heard(&self) -> bool {
        match self {
            Self::Tcp(_) | Self::Accepted(_) => true,
            Self::Unix(stream) => !has_unread(stream.as_fd()),
        }
    }

    /// Whether the kernel has something to read, or the end.
    pub(super) fn has_arrived(&self) -> bool {
        let has_arrived = |fd: BorrowedFd<'_>| {
            let waited = poll::wait(&[(fd, poll::Interest::Read)], Some(Duration::ZERO));
            waited.is_ok_and(|ready| ready.iter().any(|one| one.readable))
        };
        match self {
            Self::Tcp(stream) => has_arrived(stream.as_fd()),
            Self::Accepted(stream) => stream.with_fd(has_arrived).unwrap_or(true),
            Self::Unix(stream) => has_arrived(stream.as_fd()),
        }
    }

    /// Whether the other side neither sends nor takes anything more. Costs a system call.
    pub(crate) fn has_hung_up(&self) -> bool {
        match self {
            Self::Tcp(stream) => poll::has_hung_up(stream.as_fd()),
            Self::Accepted(stream) => stream.with_fd(poll::has_hung_up).unwrap_or(true),
            Self::Unix(stream) => poll::has_hung_up(stream.as_fd()),
        }
    }

    /// Waits until the other side sends nothing more, whatever there still is to read. Cancel safe.
    pub(crate) async fn finished(&self) {
        // Unlike interest in what can be read, this is satisfied by the end alone: the kernel is never asked for urgent
        // bytes. An error here means that the descriptor is of no further use: finished too.
        let _ = self.ready(Interest::PRIORITY | Interest::ERROR).await;
    }

    /// Waits until there is something of what is wanted. Cancel safe.
    pub(crate) async fn wait(&self, wanted: SocketInterest) -> io::Result<SocketInterest> {
        let Some(interest) = wanted.interest() else { return std::future::pending().await };
        self.ready(interest).await.map(SocketInterest::of)
    }

    async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        match self {
            Self::Tcp(stream) => stream.ready(interest).await,
            Self::Accepted(stream) => stream.watched()?.ready(interest).await,
            Self::Unix(stream) => stream.ready(interest).await,
        }
    }

    /// Waits until the connection is broken. Cancel safe.
    pub(crate) async fn broken(&self) {
        // An error here means that the descriptor is of no further use: broken too.
        let _ = self.ready(Interest::ERROR).await;
    }

    /// Waits until the other side neither sends nor takes anything more, whatever there still is to read. Cancel safe.
    pub(crate) async fn hung_up(&self) {
        // An error here means that the descriptor is of no further use.
        while let Ok(ready) = self.ready(Interest::WRITABLE).await
            && !ready.is_write_closed()
        {
            // Room to write is forgotten, unlike the end: the next event is waited for.
            let _ =
                self.try_io(Interest::WRITABLE, |_| io::Result::<()>::Err(io::ErrorKind::WouldBlock.into()));
        }
    }

    /// Waits until there is room to write. Cancel safe. For one task at a time, as `readable`.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        poll_fn(|context| self.poll_writable(context)).await
    }

    pub(crate) fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_write_ready(context),
            Self::Accepted(stream) => stream.poll_write_ready(context),
            Self::Unix(stream) => stream.poll_write_ready(context),
        }
    }

    /// Writes as much of the pieces as there is room for.
    pub(crate) fn try_write(&self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.try_io(Interest::WRITABLE, |socket| match pieces {
            [piece] => send_some(socket, piece),
            pieces => send_pieces(socket, pieces),
        })
    }

    /// Writes as much of a head as there is room for, and lets the kernel join it with what follows.
    pub(crate) fn try_write_more(&self, bytes: &[u8]) -> io::Result<usize> {
        self.try_io(Interest::WRITABLE, |socket| send_more(socket, bytes))
    }

    /// Sends a piece of a file; returns how much of it.
    pub(crate) fn try_send_file(&self, file: &File, offset: u64, len: usize) -> io::Result<usize> {
        let mut offset = offset;
        self.try_io(Interest::WRITABLE, |socket| sendfile(socket, file, &mut offset, len))
    }

    /// Has what is sent from now on travel with the end of the connection, as far as sockets of its kind know that.
    pub(crate) fn cork(&self) {
        // It would only be faster.
        let _ = match self {
            Self::Tcp(stream) => cork(stream),
            Self::Accepted(stream) => stream.with_fd(|fd| cork(fd)).flatten(),
            Self::Unix(_) => Ok(()),
        };
    }

    /// As `shut_down`, without TLS and at once.
    pub(crate) fn finish_writing(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => finish_writing(stream),
            Self::Accepted(stream) => stream.shut_down(),
            Self::Unix(stream) => finish_writing(stream.as_fd()),
        }
    }

    /// Has the writes of the other side fail from now on.
    pub(crate) fn stop_reading(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stop_reading(stream),
            Self::Accepted(stream) => stream.with_fd(|fd| stop_reading(fd)).flatten(),
            Self::Unix(stream) => stop_reading(stream.as_fd()),
        }
    }

    /// Says that nothing more will be written.
    pub(crate) async fn shut_down(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown().await,
            Self::Accepted(stream) => stream.shut_down(),
            Self::Unix(stream) => stream.shutdown().await,
        }
    }

    /// Whether something that was sent has not arrived, as far as the kernel tells that.
    pub(crate) fn has_undelivered(&self) -> bool {
        match self {
            Self::Tcp(stream) => has_unread(stream.as_fd()),
            Self::Accepted(stream) => stream.with_fd(|fd| has_unread(fd)).unwrap_or(false),
            Self::Unix(_) => false,
        }
    }

    /// Has the connection reset when it is dropped, as far as sockets of its kind know that.
    pub(crate) fn reset_on_drop(&self) {
        // One that is broken needs no reset.
        let _ = match self {
            Self::Tcp(stream) => reset_on_close(stream.as_fd()),
            Self::Accepted(stream) => stream.with_fd(|fd| reset_on_close(fd)).flatten(),
            Self::Unix(_) => Ok(()),
        };
    }

    /// The address that the client connected to; none for a Unix socket.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.local_addr().ok(),
            Self::Accepted(stream) => stream.local_address().ok(),
            Self::Unix(_) => None,
        }
    }
}
