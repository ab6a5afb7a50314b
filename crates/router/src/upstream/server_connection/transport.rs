//! A connection to a server as the transport of HTTP/2, whose frames are read and written by one task.

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::ServerConnection;

impl AsyncRead for ServerConnection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { socket, tls, .. } = self.get_mut();
        loop {
            if let Some(session) = tls {
                match session.try_read(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => session.flush(socket)?,
                    read => return Poll::Ready(read),
                }
                if session.wants_room() && socket.poll_writable(context)?.is_ready() {
                    continue;
                }
            }
            ready!(socket.poll_readable(context))?;
            let received = match tls {
                Some(session) => session.receive(socket).map(|_| None),
                None => socket.try_read(buffer.initialize_unfilled()).map(Some),
            };
            match received {
                Ok(Some(n)) => {
                    buffer.advance(n);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Poll::Ready(Err(error)),
                Ok(None) | Err(_) => {}
            }
        }
    }
}

impl AsyncWrite for ServerConnection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let connection = self.get_mut();
        loop {
            match connection.try_write(pieces) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(connection.socket.poll_writable(context))?;
                }
                written => return Poll::Ready(written),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let connection = self.get_mut();
        loop {
            connection.flush()?;
            if !connection.tls.as_ref().is_some_and(|session| session.wants_room()) {
                return Poll::Ready(Ok(()));
            }
            ready!(connection.socket.poll_writable(context))?;
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing is waited for that would be lost with the future.
        pin!(self.get_mut().shut_down()).poll(context)
    }
}
