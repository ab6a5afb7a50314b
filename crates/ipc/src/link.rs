//! The socket that carries messages: one datagram is one message in postcard form.
//!
//! A datagram is a byte that says where the message is, then the message itself, or nothing when it
//! is in a sealed memfd, the last descriptor. Every call moves a whole message, so threads may
//! share one end.

mod incoming;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use corral_sys::socket::{self, Wait};
use corral_sys::{deferred_close, process, sealed};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::incoming::Incoming;

/// Longest message that travels in the datagram itself, in bytes.
pub const MAX_INLINE: usize = 32 * 1024;

/// Longest message at all, in bytes: a bound on what a broken peer can make this side allocate.
pub const MAX_MESSAGE: usize = 256 * 1024 * 1024;

/// First byte of a datagram: the message follows.
const INLINE: u8 = 0;

/// First byte of a datagram: the message is the content of the last descriptor.
const IN_MEMFD: u8 = 1;

/// One end of a socket pair that carries typed messages with descriptors, both ways.
#[derive(Debug)]
pub struct Link {
    socket: OwnedFd,
}

/// A message that is ready to be sent, with duplicates of its descriptors: for a sender that
/// must not wait and keeps what does not go out now.
#[derive(Debug)]
pub struct Packet {
    bytes: Vec<u8>,
    fds: Vec<OwnedFd>,
    /// The length of the message, wherever it is.
    len: usize,
}

impl Packet {
    /// Encodes a message and duplicates its descriptors.
    ///
    /// # Errors
    /// When no descriptor or no memory is left.
    pub fn new<T: Serialize>(message: &T, fds: &[BorrowedFd<'_>]) -> io::Result<Self> {
        let (bytes, large) = encode(message)?;
        let mut owned = fds.iter().map(BorrowedFd::try_clone_to_owned).collect::<io::Result<Vec<_>>>()?;
        let len = match &large {
            Some(memory) => usize::try_from(sealed::len(memory.as_fd())?).unwrap_or(usize::MAX),
            None => bytes.len(),
        };
        owned.extend(large);
        Ok(Self { bytes, fds: owned, len })
    }

    /// The bytes that go out.
    #[cfg(test)]
    pub(crate) fn into_datagram(mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Descriptors that it has.
    #[must_use]
    pub fn n_descriptors(&self) -> usize {
        self.fds.len()
    }

    /// Bytes that it takes while it waits.
    #[must_use]
    pub fn cost(&self) -> usize {
        size_of::<Self>() + self.len + self.fds.len() * size_of::<OwnedFd>()
    }
}

impl Drop for Packet {
    /// Closes the datagram's descriptors apart: they may be an application's.
    fn drop(&mut self) {
        deferred_close::let_go(self.fds.drain(..));
    }
}

impl Link {
    /// Two ends that are connected with each other.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = socket::seqpacket_pair()?;
        Ok((Self { socket: a }, Self { socket: b }))
    }

    /// The end that main gave this process when it started it.
    ///
    /// # Errors
    /// When this process was not started by main, or the end was taken before.
    pub fn inherited() -> io::Result<Self> {
        Ok(Self { socket: process::take_link_descriptor()? })
    }

    /// Sends one message with duplicates of `fds`; waits while the other side's queue is full.
    ///
    /// # Errors
    /// `BrokenPipe` when the other side is gone.
    pub fn send<T: Serialize>(&self, message: &T, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send_as(message, fds, Wait::Block)
    }

    /// Sends one message if the other side's queue has room.
    ///
    /// # Errors
    /// `WouldBlock` when it has none, `BrokenPipe` when the other side is gone.
    pub fn try_send<T: Serialize>(&self, message: &T, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send_as(message, fds, Wait::Never)
    }

    fn send_as<T: Serialize>(&self, message: &T, fds: &[BorrowedFd<'_>], wait: Wait) -> io::Result<()> {
        let (bytes, large) = encode(message)?;
        let mut all = fds.to_vec();
        all.extend(large.as_ref().map(OwnedFd::as_fd));
        socket::send(self.socket.as_fd(), &bytes, &all, wait)
    }

    /// Sends a prepared message if the other side's queue has room.
    ///
    /// # Errors
    /// As [`Link::try_send`]; the packet can be sent later then.
    pub fn try_send_packet(&self, packet: &Packet) -> io::Result<()> {
        let fds: Vec<_> = packet.fds.iter().map(OwnedFd::as_fd).collect();
        socket::send(self.socket.as_fd(), &packet.bytes, &fds, Wait::Never)
    }

    /// Waits for one message. `None` when the other side is gone. A message whose descriptors this process has no
    /// room for comes without any.
    ///
    /// # Errors
    /// `InvalidData` when the message is not a `T`; the link can be used on, but one side is broken.
    pub fn recv<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        self.recv_as(Wait::Block)
    }

    /// Takes one message if there is one. `None` when the other side is gone.
    ///
    /// # Errors
    /// `WouldBlock` when there is none; otherwise as [`Link::recv`].
    pub fn try_recv<T: DeserializeOwned>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        self.recv_as(Wait::Never)
    }

    fn recv_as<T: DeserializeOwned>(&self, wait: Wait) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let mut buffer = vec![0; 1 + MAX_INLINE];
        let received = socket::recv(self.socket.as_fd(), &mut buffer, wait)?;
        if received.truncated {
            return Err(invalid("a datagram is longer than any message"));
        }
        // All or none, so that a receiver that expects some only has to count them.
        let mut fds = if received.lacks_descriptors { Vec::new() } else { received.fds };
        let message = match &buffer[..received.len] {
            [] => return Ok(None),
            [INLINE, message @ ..] => decode(message)?,
            [IN_MEMFD] => decode(&read_large(fds.pop())?)?,
            _ => return Err(invalid("a datagram starts with an unknown byte")),
        };
        Ok(Some((message, fds)))
    }
}

impl Link {
    /// Has the kernel refuse descriptors that the other side sends, where it can.
    pub fn refuse_descriptors(&self) {
        socket::refuse_descriptors(&self.socket);
    }

    /// Closes this end in a thread whose only work that is: what waits in it may take its time.
    pub fn close_aside(self) {
        deferred_close::close([self.socket]);
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl From<OwnedFd> for Link {
    fn from(socket: OwnedFd) -> Self {
        Self { socket }
    }
}

impl From<Link> for OwnedFd {
    fn from(link: Link) -> Self {
        link.socket
    }
}

/// The datagram, and the memfd behind it when the message is large.
fn encode<T: Serialize>(message: &T) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
    let bytes = postcard::to_extend(message, vec![INLINE])
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    if bytes.len() <= 1 + MAX_INLINE {
        return Ok((bytes, None));
    }
    let memory = sealed::seal("corral-message", &bytes[1..])?;
    Ok((vec![IN_MEMFD], Some(memory)))
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok(_) => Err(invalid("a message is followed by more bytes")),
        Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
    }
}

fn read_large(fd: Option<OwnedFd>) -> io::Result<Vec<u8>> {
    let fd = fd.ok_or_else(|| {
        invalid("a large message came without its memory, or no descriptor was left for it")
    })?;
    sealed::read(fd.as_fd(), MAX_MESSAGE as u64)
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests;
