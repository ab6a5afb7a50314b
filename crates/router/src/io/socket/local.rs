//! Unix sockets. The other side may put descriptors into one, whose end is waited for: no event loop closes those.

use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::AsFd;

use corral_sys::{deferred_close, socket};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// A Unix socket of a client, a server or an application.
pub(crate) struct LocalStream {
    /// `Some` until it is dropped.
    stream: Option<UnixStream>,
    /// The socket may hold descriptors that were not looked at.
    closes_aside: bool,
}

impl LocalStream {
    /// One that refuses descriptors since it was made, where the kernel can.
    pub(super) fn refusing(stream: UnixStream) -> Self {
        Self { stream: Some(stream), closes_aside: !socket::can_refuse_descriptors() }
    }

    /// A socket that another process has made.
    pub(super) fn foreign(stream: UnixStream) -> Self {
        Self { stream: Some(stream), closes_aside: true }
    }

    /// Reads what there is without waiting.
    pub(super) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let received = self.try_io(Interest::READABLE, || {
            let mut received = Vec::with_capacity(buffer.len());
            let (n, _) = socket::receive_local(self.as_fd(), &mut received)?;
            Ok((n, received))
        });
        let (n, received) = received?;
        buffer[..n].copy_from_slice(&received);
        Ok(n)
    }
}

impl Deref for LocalStream {
    type Target = UnixStream;

    fn deref(&self) -> &UnixStream {
        self.stream.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for LocalStream {
    fn deref_mut(&mut self) -> &mut UnixStream {
        self.stream.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for LocalStream {
    fn drop(&mut self) {
        let stream = self.stream.take_if(|_| self.closes_aside);
        if let Some(Ok(stream)) = stream.map(UnixStream::into_std) {
            deferred_close::close([stream.into()]);
        }
    }
}
