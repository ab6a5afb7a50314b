//! One request and its response on a connection that others share.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use http::HeaderMap;

use super::h2_connection::StreamPermit;
use super::message::{self, H2RequestHead, StreamUse};
use crate::upstream::failure::ServerFailure;

/// A request that was sent, or is being sent. Dropped before its end, it is reset at the server.
pub(crate) struct H2Stream {
    sending: SendStream<Bytes>,
    /// The end of the request was sent.
    is_sent: bool,
    receiving: Receiving,
    /// Behind what has to be dropped before it.
    permit: StreamPermit,
}

enum Receiving {
    Head(ResponseFuture),
    Body(RecvStream),
}

/// Something that has come from the server.
pub(crate) enum StreamInput {
    /// The head of an interim response, in the form of HTTP/1.
    Interim(Vec<u8>),
    /// The head of the response, in the form of HTTP/1.
    Head {
        head: Vec<u8>,
        /// Neither a body nor trailers follow.
        is_all: bool,
    },
    /// A piece of the body. There is room for more when it is [released](H2Stream::release).
    Piece(Bytes),
    /// The end, with the fields behind the body.
    End(HeaderMap),
}

impl H2Stream {
    /// Sends a head; `is_all` when no body follows.
    pub(crate) fn begin(
        mut permit: StreamPermit,
        head: &H2RequestHead<'_>,
        is_all: bool,
    ) -> Result<Self, ServerFailure> {
        if head.kind == StreamUse::WebSocket && !permit.takes_tunnels() {
            return Err(ServerFailure::NoTunnels);
        }
        let request = head.request(permit.is_tls())?;
        let sent = permit.sender().send_request(request, is_all);
        let (response, sending) = sent.map_err(ServerFailure::Refused)?;
        Ok(Self { sending, is_sent: is_all, receiving: Receiving::Head(response), permit })
    }

    /// Waits for what comes next. Not to be asked again after the end, or an error.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<StreamInput, ServerFailure>> {
        let body = match &mut self.receiving {
            Receiving::Head(response) => {
                let interim = response.poll_informational(context).map_err(ServerFailure::of_stream)?;
                if let Poll::Ready(Some(head)) = interim {
                    let head = message::head(head.status(), head.headers());
                    return Poll::Ready(Ok(StreamInput::Interim(head)));
                }
                let response = ready!(Pin::new(response).poll(context)).map_err(ServerFailure::of_stream)?;
                let (head, body) = response.into_parts();
                let is_all = body.is_end_stream();
                self.receiving = Receiving::Body(body);
                let head = message::head(head.status, &head.headers);
                return Poll::Ready(Ok(StreamInput::Head { head, is_all }));
            }
            Receiving::Body(body) => body,
        };
        let received = match ready!(body.poll_data(context)) {
            Some(Ok(piece)) => Ok(StreamInput::Piece(piece)),
            Some(Err(error)) => Err(error),
            None => {
                ready!(body.poll_trailers(context)).map(|fields| StreamInput::End(fields.unwrap_or_default()))
            }
        };
        Poll::Ready(match received {
            // The response is complete, and the server does not want the rest of the request (RFC 9113 section 8.1).
            Err(error) if error.is_remote() && error.reason() == Some(Reason::NO_ERROR) => {
                Ok(StreamInput::End(HeaderMap::new()))
            }
            received => received.map_err(ServerFailure::of_stream),
        })
    }

    /// So many bytes of the body are out of memory: the server may send as many more.
    pub(crate) fn release(&mut self, n: usize) {
        if let Receiving::Body(body) = &mut self.receiving {
            // More than was received is not released.
            let _ = body.flow_control().release_capacity(n);
        }
    }

    /// Sends as much of a piece of the body as there is room for; `is_last` when it is the rest.
    pub(crate) fn try_send(&mut self, piece: &[u8], is_last: bool) -> Result<usize, ServerFailure> {
        self.sending.reserve_capacity(piece.len());
        let n = self.sending.capacity().min(piece.len());
        let is_end = is_last && n == piece.len();
        if n > 0 || is_end {
            let piece = Bytes::copy_from_slice(&piece[..n]);
            self.sending.send_data(piece, is_end).map_err(ServerFailure::of_stream)?;
            self.is_sent |= is_end;
        }
        Ok(n)
    }

    /// Whether the end of the request was sent.
    pub(crate) fn is_sent(&self) -> bool {
        self.is_sent
    }

    /// Waits for room to send more. An error means that nothing more is taken.
    pub(crate) fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ServerFailure>> {
        while self.sending.capacity() == 0 {
            match ready!(self.sending.poll_capacity(context)) {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(ServerFailure::of_stream(error))),
                None => return Poll::Ready(Err(ServerFailure::Closed)),
            }
        }
        Poll::Ready(Ok(()))
    }

    pub(crate) fn permit(&self) -> &StreamPermit {
        &self.permit
    }
}
