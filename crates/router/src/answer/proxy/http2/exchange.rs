//! A request and its response on one stream, both on their way at the same time.

use std::future::poll_fn;
use std::ops::ControlFlow;

use bytes::Bytes;
use corral_config::upstream::Timeouts;
use corral_http::upstream::{ResponseBody, ResponseHead, parse_response};
use http::HeaderMap;

use super::websocket;
use crate::answer::proxy::receive::{AttemptFailure, ServerTransport, look_for_client, receive};
use crate::answer::proxy::relay;
use crate::answer::proxy::response_head::{HeadReader, ResponseStart, pass_on_interim};
use crate::answer::proxy::time_limit::{ResponsePart, WaitLimit};
use crate::answer::proxy::upload::Upload;
use crate::exchange::response::ResponseWriter;
use crate::exchange::writer::BodyWriter;
use crate::io::now;
use crate::reply::trailers;
use crate::request::client::Gone;
use crate::upstream::ServerFailure;
use crate::upstream::http2::{H2Stream, StreamInput, StreamUse};

/// A request that is on its way.
pub(super) struct Http2Request<'c> {
    server: Http2Transport,
    upload: &'c mut Upload,
    timeouts: &'c Timeouts,
}

/// A stream on which the request goes out and its response comes in.
struct Http2Transport {
    stream: H2Stream,
    /// The server takes nothing more of the request; it may have answered all the same.
    is_deaf: bool,
}

/// A response whose head has arrived.
pub(super) struct Http2Response {
    answer: ResponseStart,
    /// Nothing follows.
    is_all: bool,
}

impl Http2Response {
    pub(super) fn status(&self) -> u16 {
        self.answer.head.status()
    }
}

impl<'c> Http2Request<'c> {
    pub(super) fn new(
        stream: H2Stream,
        kind: StreamUse,
        upload: &'c mut Upload,
        timeouts: &'c Timeouts,
    ) -> Self {
        // What is sent on a WebSocket connection is not a body.
        let server = Http2Transport { stream, is_deaf: kind == StreamUse::WebSocket };
        Self { server, upload, timeouts }
    }

    /// Sends the request and waits for the head of the response.
    pub(super) async fn ask(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
    ) -> Result<Http2Response, AttemptFailure> {
        let mut reader = HeadReader::default();
        let mut limit = WaitLimit::new(ResponsePart::Head, self.timeouts);
        loop {
            let received = receive(response, (&mut self.server, self.upload), &mut limit).await?;
            if let Some(begun) = take_head(response, received?, &mut reader).await? {
                return Ok(begun);
            }
            look_for_client(response, self.upload).await?;
        }
    }

    /// The request's body.
    pub(super) fn upload(&self) -> &Upload {
        self.upload
    }

    /// No other server gets the request: the response is passed on.
    pub(super) fn commit(&mut self) {
        self.upload.commit();
    }

    /// Makes a WebSocket connection of the stream if that is what the server has agreed to; the conversation itself if
    /// not.
    pub(super) async fn switch(
        self,
        response: &mut ResponseWriter<'_, '_>,
        begun: &Http2Response,
    ) -> Result<ControlFlow<(), Self>, Gone> {
        if !(200..300).contains(&begun.answer.head.status()) {
            return Ok(ControlFlow::Continue(self));
        }
        websocket::run(response, self.server.stream, &begun.answer, self.timeouts.tunnel).await?;
        Ok(ControlFlow::Break(()))
    }

    /// Passes the response on, and sends the rest of the request meanwhile; why it broke off, if it did.
    pub(super) async fn relay(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        begun: &Http2Response,
    ) -> Result<Option<ServerFailure>, Gone> {
        let ResponseStart { head, input } = &begun.answer;
        if response.intercepts(head.status(), head.fields(input)) {
            return Ok(None);
        }
        let body = head.body(response.request.is_head());
        let length = if begun.is_all && body == ResponseBody::UntilClose {
            Some(0)
        } else {
            relay::length(head, body)
        };
        let mut writer = relay::open(response, head, input, length);
        if begun.is_all {
            writer.finish(response, b"").await?;
            return Ok(None);
        }
        let (piece, fields) = match self.pass_on(response, &mut writer).await? {
            Ok(last) => last,
            Err(failure) => return Ok(Some(failure)),
        };
        if response.request.takes_trailers() {
            let fields = fields.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
            writer.set_trailers(trailers::lines(fields));
        }
        writer.finish(response, &piece).await?;
        Ok(None)
    }

    /// Passes on all of the body but its last piece, with which comes what stands behind it.
    async fn pass_on(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        writer: &mut BodyWriter,
    ) -> Result<Result<(Bytes, HeaderMap), ServerFailure>, Gone> {
        let mut piece = Bytes::new();
        loop {
            let received = match now(poll_fn(|context| self.server.stream.poll_next(context))).await {
                Some(received) => received,
                None => {
                    self.deliver(response, writer, &mut piece).await?;
                    writer.flush(response).await?;
                    let mut limit = WaitLimit::new(ResponsePart::Body, self.timeouts);
                    match receive(response, (&mut self.server, self.upload), &mut limit).await {
                        Ok(received) => received,
                        Err(failure) => Err(failure.of_server()?),
                    }
                }
            };
            match received {
                Ok(StreamInput::Piece(next)) if piece.is_empty() => piece = next,
                Ok(StreamInput::Piece(next)) => {
                    self.deliver(response, writer, &mut piece).await?;
                    piece = next;
                }
                Ok(StreamInput::End(fields)) => return Ok(Ok((piece, fields))),
                // The stream gives no head behind another one.
                Ok(StreamInput::Interim(_) | StreamInput::Head { .. }) => {
                    return Ok(Err(ServerFailure::Closed));
                }
                Err(failure) => {
                    self.deliver(response, writer, &mut piece).await?;
                    return Ok(Err(failure));
                }
            }
        }
    }

    /// Sends a piece to the client; the server may send as much again.
    async fn deliver(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        writer: &mut BodyWriter,
        piece: &mut Bytes,
    ) -> Result<(), Gone> {
        let piece = std::mem::take(piece);
        writer.send(response, &piece).await?;
        self.server.stream.release(piece.len());
        Ok(())
    }
}

impl ServerTransport for Http2Transport {
    type Received = Result<StreamInput, ServerFailure>;

    /// An error is that of reading what was stored of the body.
    fn send(&mut self, upload: &mut Upload) -> Result<(), ServerFailure> {
        while !self.is_deaf && !self.stream.is_sent() && !upload.is_starving() {
            let pending = upload.pending();
            match self.stream.try_send(pending, upload.is_complete()) {
                Ok(0) if !pending.is_empty() => break,
                Ok(n) => upload.advance(n).map_err(ServerFailure::Send)?,
                // What the server says of it is received.
                Err(_) => self.is_deaf = true,
            }
        }
        Ok(())
    }

    fn is_blocked(&self, upload: &Upload) -> bool {
        !self.is_deaf && !upload.pending().is_empty()
    }

    fn is_starving(&self, upload: &Upload) -> bool {
        !self.is_deaf && upload.is_starving()
    }

    async fn receive(&mut self, wants_room: bool) -> Option<Self::Received> {
        poll_fn(|context| {
            let received = self.stream.poll_next(context).map(Some);
            if received.is_pending() && wants_room {
                return self.stream.poll_room(context).map(|room| {
                    self.is_deaf |= room.is_err();
                    None
                });
            }
            received
        })
        .await
    }

    fn give_up(&mut self) {
        self.stream.permit().retire();
    }
}

/// The head of the response; those of interim responses are passed over, and counted.
async fn take_head(
    response: &mut ResponseWriter<'_, '_>,
    received: StreamInput,
    reader: &mut HeadReader,
) -> Result<Option<Http2Response>, AttemptFailure> {
    match received {
        StreamInput::Head { head, is_all } => Ok(Some(Http2Response { answer: parse(head)?, is_all })),
        StreamInput::Interim(head) => {
            let ResponseStart { head, input } = parse(head)?;
            reader.count_interim()?;
            pass_on_interim(response, &head, &input).await?;
            Ok(None)
        }
        // The stream gives a head before anything else.
        StreamInput::Piece(_) | StreamInput::End(_) => Err(ServerFailure::Closed.into()),
    }
}

fn parse(input: Vec<u8>) -> Result<ResponseStart, ServerFailure> {
    let mut head = ResponseHead::default();
    parse_response(&mut head, &input)?;
    Ok(ResponseStart { head, input })
}
