//! The response of a server on its way to the client: fields as they are, the body as fast as the client takes it.

use std::io;

use corral_config::upstream::Timeouts;
use corral_http::upstream::{ResponseBody, ResponseHead};

use super::download::Download;
use super::http1_request::{Http1Transport, OutgoingHead};
use super::receive::receive;
use super::response_head::ResponseStart;
use super::server_headers;
use super::time_limit::{ResponsePart, WaitLimit};
use super::upload::Upload;
use crate::exchange::response::ResponseWriter;
use crate::exchange::writer::BodyWriter;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::{ServerConnection, ServerFailure};

/// Result of passing a response on.
#[derive(Debug)]
pub(crate) enum Relayed {
    /// All of it was sent; whether the connection can be used again.
    Complete { reusable: bool },
    /// The response was wrong before anything was sent.
    Refused(ServerFailure),
    /// The response broke off, and the client's connection with it.
    Cut(ServerFailure),
}

/// A connection whose response is passed on, while the request may still be on its way.
pub(crate) struct ResponseRelay<'r> {
    pub(crate) connection: &'r mut ServerConnection,
    pub(crate) upload: &'r mut Upload,
    pub(crate) timeouts: &'r Timeouts,
}

impl ResponseRelay<'_> {
    /// Passes a response on whose head is there.
    pub(crate) async fn run(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        answer: &mut ResponseStart,
    ) -> Result<Relayed, Gone> {
        let ResponseStart { head, input } = answer;
        let is_head = response.request.is_head();
        let mut download = Download::new(head.body(is_head), response.request.takes_trailers());
        let (piece, end) = match download.take(&input[head.len()..]) {
            Ok(taken) => taken,
            Err(error) => return Ok(Relayed::Refused(error.into())),
        };
        if response.intercepts(head.status(), head.fields(input)) {
            return Ok(self.complete(head, is_head, end.is_some() && !download.has_excess()));
        }
        let length = length(head, head.body(is_head));
        let mut writer = open(response, head, input, length);
        let failure = if let Some(trailers) = end {
            writer.set_trailers(trailers);
            writer.finish(response, piece).await?;
            None
        } else {
            writer.send(response, piece).await?;
            // In a box of its own: a short response, which came with its head, needs none of it.
            Box::pin(self.pass_on(response, writer, &mut download, input)).await?
        };
        Ok(match failure {
            Some(failure) => Relayed::Cut(failure),
            None => self.complete(head, is_head, !download.has_excess()),
        })
    }

    /// `is_clean` when nothing but the whole response was received.
    fn complete(&self, head: &ResponseHead, is_head: bool, is_clean: bool) -> Relayed {
        Relayed::Complete { reusable: is_clean && head.keep_alive(is_head) && self.upload.is_sent() }
    }

    /// Passes on what follows, piece by piece, and sends the rest of the request meanwhile; why the response broke off,
    /// if it did.
    async fn pass_on(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        mut writer: BodyWriter,
        download: &mut Download,
        input: &mut Vec<u8>,
    ) -> Result<Option<ServerFailure>, Gone> {
        let mut pace = ReadSize::default();
        let mut server = Http1Transport::new(self.connection, OutgoingHead::default(), input);
        loop {
            writer.flush(response).await?;
            pace.fit(response, server.input);
            server.input.clear();
            let mut limit = WaitLimit::new(ResponsePart::Body, self.timeouts);
            let received = receive(response, (&mut server, self.upload), &mut limit).await;
            let n = match received {
                Ok(Ok(n)) => n,
                Ok(Err(error)) => return Ok(Some(ServerFailure::Receive(error))),
                Err(failure) => return failure.of_server().map(Some),
            };
            if n == 0 {
                if !download.ends_with_connection() {
                    return Ok(Some(ServerFailure::Receive(io::ErrorKind::UnexpectedEof.into())));
                }
                writer.finish(response, b"").await?;
                return Ok(None);
            }
            match download.take(server.input) {
                Ok((piece, Some(trailers))) => {
                    writer.set_trailers(trailers);
                    writer.finish(response, piece).await?;
                    return Ok(None);
                }
                // Framing alone.
                Ok((b"", None)) => {}
                Ok((piece, None)) => writer.send(response, piece).await?,
                Err(error) => return Ok(Some(error.into())),
            }
        }
    }
}

/// Pieces in a row that a client has to take without being waited for, before it gets large ones.
const QUICK_PIECES: u32 = 4;

/// How fast the client takes a response. It begins with small pieces: what a slow client has not taken stays in memory.
#[derive(Default)]
struct ReadSize {
    n_quick: u32,
}

impl ReadSize {
    /// Has the next piece read into a buffer that suits the client.
    fn fit(&mut self, response: &mut ResponseWriter<'_, '_>, input: &mut Vec<u8>) {
        let has_waited = std::mem::take(&mut response.client.has_waited);
        if self.n_quick < QUICK_PIECES {
            self.n_quick = if has_waited { 0 } else { self.n_quick + 1 };
            let is_large = input.capacity() >= buffers::LARGE_CAPACITY;
            if is_large != (self.n_quick == QUICK_PIECES) {
                let other = if is_large { buffers::take() } else { buffers::take_large() };
                buffers::give(std::mem::replace(input, other));
            }
        }
    }
}

/// Opens the reply with the fields of a response.
pub(super) fn open(
    response: &mut ResponseWriter<'_, '_>,
    head: &ResponseHead,
    input: &[u8],
    length: Option<u64>,
) -> BodyWriter {
    server_headers::take_over(response, head.fields(input));
    response.open(head.status(), length)
}

/// The length of a response as it is announced.
pub(super) fn length(head: &ResponseHead, body: ResponseBody) -> Option<u64> {
    match body {
        ResponseBody::Absent => head.content_length(),
        ResponseBody::Length(length) => Some(length),
        ResponseBody::Chunked | ResponseBody::UntilClose => None,
    }
}
