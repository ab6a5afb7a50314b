//! The transport as the crate `h2` wants it. Nothing is stored to wake a task: the engine's events do so.

use std::io::{self, ErrorKind, Read, Write};
use std::pin::Pin;
use std::task::{Context as Task, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::transport::Transport;

pub(super) struct Socket(pub(super) Transport);

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Task<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.0.read(buffer.initialize_unfilled());
        poll(read).map_ok(|n_read| buffer.advance(n_read))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Task<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        poll(self.0.write(bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Task<'_>) -> Poll<io::Result<()>> {
        poll(self.0.flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Task<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn poll<T>(result: io::Result<T>) -> Poll<io::Result<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Poll::Pending,
        result => Poll::Ready(result),
    }
}
