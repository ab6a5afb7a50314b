//! A stream that has become a WebSocket connection (RFC 8441): to the client it is one of HTTP/1, or a stream of its
//! own.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;

use crate::answer::proxy::response_head::ResponseStart;
use crate::answer::proxy::tunnel::{self, TunnelServer};
use crate::answer::websocket;
use crate::exchange::response::ResponseWriter;
use crate::io::SocketInterest;
use crate::request::client::Gone;
use crate::upstream::ServerFailure;
use crate::upstream::http2::{H2Stream, StreamInput};

/// Switches the client's connection, and passes on everything until both sides have ended.
pub(super) async fn run(
    response: &mut ResponseWriter<'_, '_>,
    stream: H2Stream,
    answer: &ResponseStart,
    limit: Duration,
) -> Result<(), Gone> {
    answer.copy_fields(response);
    response.reply.fields.push(b"Upgrade", b"websocket");
    response
        .reply
        .fields
        .push(b"Sec-WebSocket-Accept", websocket::accept(response.request.received).as_bytes());
    // Not finished: what follows is sent on the same stream.
    response.open_switch().send(response, b"").await?;
    let mut piped = StreamBytes { stream, ahead: Bytes::new(), is_ended: false };
    tunnel::join(response, &mut piped, b"", limit).await;
    Ok(())
}

/// A stream as bytes in both directions.
struct StreamBytes {
    stream: H2Stream,
    /// Received by a look that only asked whether there is something.
    ahead: Bytes,
    is_ended: bool,
}

impl StreamBytes {
    /// Waits until there is something to read, or the end.
    fn poll_ahead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.ahead.is_empty() && !self.is_ended {
            match ready!(self.stream.poll_next(context)).map_err(broken)? {
                StreamInput::Piece(piece) => self.ahead = piece,
                StreamInput::End(_) | StreamInput::Interim(_) | StreamInput::Head { .. } => {
                    self.is_ended = true;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

fn broken(failure: ServerFailure) -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, failure)
}

impl TunnelServer for StreamBytes {
    async fn ready(&mut self, wanted: SocketInterest) -> io::Result<SocketInterest> {
        poll_fn(|context| {
            let bytes = wanted.bytes && self.poll_ahead(context)?.is_ready();
            let room = wanted.room && self.stream.poll_room(context).map_err(broken)?.is_ready();
            if bytes || room { Poll::Ready(Ok(SocketInterest { bytes, room })) } else { Poll::Pending }
        })
        .await
    }

    async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        poll_fn(|context| self.poll_ahead(context)).await?;
        let piece = std::mem::take(&mut self.ahead);
        buffer.extend_from_slice(&piece);
        self.stream.release(piece.len());
        Ok(piece.len())
    }

    fn try_write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let piece = pieces.iter().find(|piece| !piece.is_empty());
        match self.stream.try_send(piece.map_or(&[], |piece| piece), false).map_err(broken)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            n => Ok(n),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    async fn shut_down(&mut self) -> io::Result<()> {
        self.stream.try_send(b"", true).map(drop).map_err(broken)
    }

    /// A stream hangs up only by a reset, which is an error.
    fn has_hung_up(&self) -> bool {
        false
    }
}
