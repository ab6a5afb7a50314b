//! A stream that was switched to another protocol, or taken over: bytes in both directions.

use std::io::{self, IoSlice};
use std::task::{Context, Poll};

use corral_http::upstream::{ResponseHead, parse_response};
use http::StatusCode;

use super::carrier::{Http2Carrier, StreamOutput};
use super::piece::UnsentPiece;
use super::reply;
use crate::exchange::carrier::RawBytes;
use crate::io::SocketInterest;
use crate::request::body::BodyError;

/// The longest head of a response that an application writes by itself.
const MAX_HEAD: usize = 64 * 1024;

/// A head of HTTP/1, as far as it was written by the application that has taken the stream over (Rack's full hijack).
#[derive(Default)]
pub(super) struct RawHead(Vec<u8>);

impl RawHead {
    /// Takes bytes until the head is complete, which begins the reply; returns how many belong to it.
    fn take(&mut self, bytes: &[u8], output: &mut StreamOutput) -> io::Result<usize> {
        let Self(text) = self;
        let n_before = text.len();
        text.extend_from_slice(bytes);
        let mut head = ResponseHead::default();
        let is_complete = parse_response(&mut head, text).map_err(io::Error::other)?;
        if !is_complete {
            return if text.len() > MAX_HEAD {
                Err(io::ErrorKind::InvalidData.into())
            } else {
                Ok(bytes.len())
            };
        }
        let mut response = reply::bare(&head, text).ok_or(io::ErrorKind::InvalidData)?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            *response.status_mut() = StatusCode::OK;
            response.headers_mut().remove(http::header::SEC_WEBSOCKET_ACCEPT);
        }
        output.begin(response, false)?;
        Ok(head.len() - n_before)
    }
}

impl RawBytes for Http2Carrier<'_> {
    fn poll_ready(
        &mut self,
        context: &mut Context<'_>,
        wanted: SocketInterest,
    ) -> Poll<io::Result<SocketInterest>> {
        let bytes = wanted.bytes && self.body.poll_ahead(context).map_err(gone)?.is_ready();
        let room = wanted.room && self.output.get_mut().poll_room(context, &self.shared.unsent)?.is_ready();
        if bytes || room { Poll::Ready(Ok(SocketInterest { bytes, room })) } else { Poll::Pending }
    }

    fn poll_read(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        let n_before = out.len();
        while !self.body.is_done() {
            std::task::ready!(self.body.poll(context, out)).map_err(gone)?;
            if out.len() > n_before {
                break;
            }
        }
        Poll::Ready(Ok(out.len() - n_before))
    }

    fn try_write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let Self { shared, output, raw_head, .. } = self;
        let output = output.get_mut();
        if let StreamOutput::Waiting(_) = output {
            return raw_head.take(pieces.first().map_or(&[][..], |piece| piece), output);
        }
        let wanted = pieces.iter().map(|piece| piece.len()).sum();
        let n = output.room(wanted, &shared.unsent)?.min(wanted);
        let bytes = UnsentPiece::copy_of(pieces.iter().map(|piece| &**piece), n, &shared.unsent);
        output.send(bytes, false)?;
        Ok(n)
    }

    fn poll_shut_down(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.output.get_mut().end(&self.shared.unsent))
    }
}

fn gone(_: BodyError) -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}
