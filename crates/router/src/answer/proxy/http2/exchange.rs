//! A request and its response on one stream, both on their way at the same time.

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use corral_config::upstream::Timeouts;
use corral_http::upstream::{ResponseBody, ResponseHead, parse_response};
use http::HeaderMap;

use super::websocket;
use crate::answer::proxy::http1_request::{
    Http1Event, Http1Failure, MOST_INTERIM, ResponseStart, look_for_client, pass_on_interim, read_client_now,
};
use crate::answer::proxy::relay;
use crate::answer::proxy::time_limit::TimeLimit;
use crate::answer::proxy::upload::Upload;
use crate::exchange::downstream::Downstream;
use crate::exchange::response::ResponseWriter;
use crate::exchange::writer::BodyWriter;
use crate::io::now;
use crate::reply::trailers;
use crate::request::body::BodyError;
use crate::request::client::Gone;
use crate::upstream::ServerFailure;
use crate::upstream::http2::{H2Stream, StreamInput, StreamUse};

/// Something that has happened on a stream.
type StreamEvent = Http1Event<Result<StreamInput, ServerFailure>>;

/// A request that is on its way.
pub(super) struct Http2Request<'c> {
    stream: H2Stream,
    upload: &'c mut Upload,
    timeouts: &'c Timeouts,
    /// The server takes nothing more of the request; it may have answered all the same.
    is_deaf: bool,
}

/// A response whose head has arrived.
pub(super) struct Http2Response {
    answer: ResponseStart,
    /// Nothing follows.
    is_all: bool,
}

impl<'c> Http2Request<'c> {
    pub(super) fn new(
        stream: H2Stream,
        kind: StreamUse,
        upload: &'c mut Upload,
        timeouts: &'c Timeouts,
    ) -> Self {
        // What is sent on a WebSocket connection is not a body.
        Self { stream, upload, timeouts, is_deaf: kind == StreamUse::WebSocket }
    }

    /// Sends the request and waits for the head of the response.
    pub(super) async fn ask(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
    ) -> Result<Http2Response, Http1Failure> {
        let mut n_interim = 0;
        let mut clock = TimeLimit::default();
        loop {
            self.send()?;
            if let Some(body) = self.read_client_now(response) {
                body.map_err(Http1Failure::Body)?;
                continue;
            }
            match self.next_event(response, self.limit(response, &mut clock)).await {
                Http1Event::Received(received) => {
                    if let Some(begun) = take_head(response, received?, &mut n_interim).await? {
                        self.upload.commit();
                        return Ok(begun);
                    }
                    look_for_client(response, self.upload).await?;
                }
                Http1Event::Room => {}
                Http1Event::Client(read) => read.map_err(Http1Failure::Body)?,
                Http1Event::Gone => return Err(Http1Failure::Gone),
                Http1Event::Elapsed => return Err(self.elapsed()),
            }
        }
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
        websocket::run(response, self.stream, &begun.answer, self.timeouts.tunnel).await?;
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
            let received = match now(poll_fn(|context| self.stream.poll_next(context))).await {
                Some(received) => received,
                None => {
                    self.deliver(response, writer, &mut piece).await?;
                    writer.flush(response).await?;
                    self.receive(response).await?
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
        self.stream.release(piece.len());
        Ok(())
    }

    /// Waits for more of the response.
    async fn receive(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
    ) -> Result<Result<StreamInput, ServerFailure>, Gone> {
        loop {
            if let Err(failure) = self.send() {
                return Ok(Err(failure));
            }
            if let Some(taken) = self.read_client_now(response) {
                taken.map_err(|_| Gone)?;
                continue;
            }
            let limit = self.timeouts.read;
            match self.next_event(response, limit).await {
                Http1Event::Received(received) => return Ok(received),
                Http1Event::Room => {}
                Http1Event::Client(read) => read.map_err(|_| Gone)?,
                Http1Event::Gone => return Err(Gone),
                Http1Event::Elapsed => {
                    self.stream.permit().retire();
                    return Ok(Err(ServerFailure::ReadTimedOut(limit)));
                }
            }
        }
    }

    /// Sends as much of the body as there is room for. An error is that of reading what was stored of it.
    fn send(&mut self) -> Result<(), ServerFailure> {
        while !self.is_deaf && !self.stream.is_sent() && !self.upload.is_starving() {
            let pending = self.upload.pending();
            match self.stream.try_send(pending, self.upload.is_complete()) {
                Ok(0) if !pending.is_empty() => break,
                Ok(n) => self.upload.advance(n).map_err(ServerFailure::Send)?,
                // What the server says of it is received.
                Err(_) => self.is_deaf = true,
            }
        }
        Ok(())
    }

    fn is_blocked(&self) -> bool {
        !self.is_deaf && !self.upload.pending().is_empty()
    }

    fn is_starving(&self) -> bool {
        !self.is_deaf && self.upload.is_starving()
    }

    fn read_client_now(&mut self, response: &mut ResponseWriter<'_, '_>) -> Option<Result<(), BodyError>> {
        if self.is_deaf { None } else { read_client_now(response, self.upload) }
    }

    fn limit(&self, response: &ResponseWriter<'_, '_>, clock: &mut TimeLimit) -> Duration {
        if self.is_blocked() {
            self.timeouts.send
        } else if self.is_starving() {
            response.request.request_settings().body_read_timeout
        } else {
            clock.left(self.timeouts.response, response.now())
        }
    }

    fn elapsed(&self) -> Http1Failure {
        if self.is_starving() {
            return Http1Failure::Body(BodyError::TimedOut);
        }
        self.stream.permit().retire();
        if self.is_blocked() {
            ServerFailure::SendTimedOut(self.timeouts.send).into()
        } else {
            ServerFailure::ResponseTimedOut(self.timeouts.response).into()
        }
    }

    /// Waits for the first thing that happens: the server sends or takes something, the client sends more of the body
    /// or goes away, or nothing does for too long.
    async fn next_event(&mut self, response: &mut ResponseWriter<'_, '_>, limit: Duration) -> StreamEvent {
        if limit.is_zero() {
            return Http1Event::Elapsed;
        }
        let (is_blocked, is_starving) = (self.is_blocked(), self.is_starving());
        let sign = response.sign_of_departure();
        let Downstream { carrier, deadline, .. } = &mut *response.client;
        let Self { stream, upload, is_deaf, .. } = self;
        let client = async {
            if is_starving {
                return Http1Event::Client(
                    poll_fn(|context| upload.poll_take(&mut **carrier, context)).await,
                );
            }
            carrier.gone(sign).await;
            Http1Event::Gone
        };
        let server = poll_fn(|context| {
            let received = stream.poll_next(context).map(Http1Event::Received);
            if received.is_pending() && is_blocked {
                return stream.poll_room(context).map(|room| {
                    *is_deaf |= room.is_err();
                    Http1Event::Room
                });
            }
            received
        });
        let event = async {
            tokio::select! {
                biased;
                event = server => event,
                event = client => event,
            }
        };
        deadline.limit(limit, pin!(event)).await.unwrap_or(Http1Event::Elapsed)
    }
}

/// The head of the response; those of interim responses are passed over, and counted.
async fn take_head(
    response: &mut ResponseWriter<'_, '_>,
    received: StreamInput,
    n_interim: &mut u32,
) -> Result<Option<Http2Response>, Http1Failure> {
    match received {
        StreamInput::Head { head, is_all } => Ok(Some(Http2Response { answer: parse(head)?, is_all })),
        StreamInput::Interim(head) => {
            let ResponseStart { head, input } = parse(head)?;
            *n_interim += 1;
            if *n_interim > MOST_INTERIM {
                return Err(ServerFailure::TooManyInterim(MOST_INTERIM).into());
            }
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
