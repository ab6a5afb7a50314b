//! A client's connection as crate `h2` reads and writes it: many frames go out together.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::mem;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::turn_budget::TurnBudget;
use crate::io::ClientStream;
use crate::storage::buffers;

/// Bytes that are gathered before they are sent: three records of TLS.
const GATHERED: usize = 48 * 1024;

/// Bytes that are not copied to be put together with others.
const MANY: usize = 8 * 1024;

/// Room for one read, while the client sends much.
const READ_STEP: usize = 8 * 1024;

/// A connection with what is on its way in and out. The buffers are borrowed while there is something in them.
pub(super) struct Transport {
    stream: ClientStream,
    /// Received and not taken.
    input: Vec<u8>,
    n_taken: usize,
    /// The last read has filled its room.
    is_fast: bool,
    pace: TurnBudget,
    /// Gathered and not sent.
    output: Vec<u8>,
    n_sent: usize,
    /// Encrypted, before that.
    n_encrypted: usize,
    /// The waiting bytes had no room, and their beginning must stay as it is.
    is_stuck: bool,
}

impl Transport {
    pub(super) fn new(stream: ClientStream, input: Vec<u8>) -> Self {
        Self {
            stream,
            input,
            n_taken: 0,
            is_fast: false,
            pace: TurnBudget::default(),
            output: Vec::new(),
            n_sent: 0,
            n_encrypted: 0,
            is_stuck: false,
        }
    }

    /// Has the next turn of the connection read again. `h2` would take frames as long as there are any, and the streams
    /// that they are for, and other connections, would not get to anything.
    pub(super) fn end_turn(&mut self) {
        self.pace.end_turn();
    }

    /// Sends all that was gathered.
    pub(super) fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Err(error) = self.try_send() {
            if error.kind() != io::ErrorKind::WouldBlock {
                return Poll::Ready(Err(error));
            }
            self.is_stuck = true;
            ready!(self.stream.poll_writable(context))?;
        }
        (self.n_sent, self.n_encrypted, self.is_stuck) = (0, 0, false);
        buffers::give(mem::take(&mut self.output));
        Poll::Ready(Ok(()))
    }

    /// Whether nothing waits to be sent.
    pub(super) fn is_sent(&self) -> bool {
        self.output.is_empty() && self.n_encrypted == 0
    }

    fn try_send(&mut self) -> io::Result<()> {
        let Self { stream, output, n_sent, n_encrypted, .. } = self;
        while *n_sent < output.len() {
            match stream.try_write(&[IoSlice::new(&output[*n_sent..])])? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                n => *n_sent += n,
            }
        }
        if *n_encrypted > 0 { stream.flush() } else { Ok(()) }
    }

    /// The connection, and a buffer, when nothing more is sent.
    pub(super) fn end(&mut self) -> (&mut ClientStream, &mut Vec<u8>) {
        (&mut self.stream, &mut self.input)
    }

    fn poll_gather(&mut self, context: &mut Context<'_>, pieces: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if self.is_stuck || self.output.len() + self.n_encrypted >= GATHERED {
            ready!(self.poll_send(context))?;
        }
        for piece in pieces {
            self.gather(piece)?;
        }
        Poll::Ready(Ok(pieces.iter().map(|piece| piece.len()).sum()))
    }

    /// Puts bytes behind those that wait. Many are encrypted where they are, few are put together first.
    fn gather(&mut self, piece: &[u8]) -> io::Result<()> {
        let Self { stream, output, n_encrypted, .. } = self;
        if piece.len() >= MANY && stream.tls().is_some() {
            // An empty record would be one all the same.
            for bytes in [&output[..], piece].into_iter().filter(|bytes| !bytes.is_empty()) {
                if let Some(gathered) = stream.gather(bytes) {
                    *n_encrypted = gathered?;
                }
            }
            output.clear();
            return Ok(());
        }
        if output.capacity() == 0 {
            *output =
                if piece.len() > buffers::SMALL_CAPACITY { buffers::take_large() } else { buffers::take() };
        }
        output.extend_from_slice(piece);
        Ok(())
    }

    fn poll_read(&mut self, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.n_taken == self.input.len() {
            self.n_taken = 0;
            self.input.clear();
            ready!(self.poll_fill(context))?;
        }
        let rest = &self.input[self.n_taken..];
        let rest = &rest[..rest.len().min(out.remaining())];
        let n = self.pace.pass(rest);
        if n == 0 && !rest.is_empty() {
            return postpone(context);
        }
        out.put_slice(&rest[..n]);
        self.n_taken += n;
        if self.n_taken == self.input.len() && !self.is_fast {
            self.n_taken = 0;
            buffers::give(mem::take(&mut self.input));
        }
        Poll::Ready(Ok(()))
    }

    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.pace.may_read() {
            return postpone(context);
        }
        if self.input.capacity() == 0 {
            self.input = buffers::take();
        }
        if self.is_fast {
            self.input.reserve(READ_STEP);
        }
        let room = self.input.capacity();
        match self.stream.poll_read(context, &mut self.input) {
            Poll::Ready(read) => {
                self.is_fast = read? >= room;
                self.pace.note_read(self.is_fast);
                Poll::Ready(Ok(()))
            }
            Poll::Pending => {
                self.is_fast = false;
                buffers::give(mem::take(&mut self.input));
                Poll::Pending
            }
        }
    }
}

/// Has the connection polled again once the event loop has looked for what happens on others: a waker would have it
/// polled before, up to 61 times (tokio's `event_interval`).
fn postpone<T>(context: &mut Context<'_>) -> Poll<T> {
    let _ = pin!(tokio::task::yield_now()).poll(context);
    Poll::Pending
}

impl Drop for Transport {
    fn drop(&mut self) {
        buffers::give(mem::take(&mut self.input));
        buffers::give(mem::take(&mut self.output));
    }
}

/// The end of a transport that `h2` has.
pub(super) struct TransportHandle(pub(super) Rc<RefCell<Transport>>);

impl AsyncRead for TransportHandle {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.borrow_mut().poll_read(context, out)
    }
}

impl AsyncWrite for TransportHandle {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().poll_gather(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().poll_gather(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// The gathered bytes go out when `h2` has nothing more to say for now, which it does not tell: it flushes after
    /// each frame.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.borrow_mut().poll_send(context)
    }
}
