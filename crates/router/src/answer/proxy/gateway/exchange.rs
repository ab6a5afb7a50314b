//! One request on one connection: asks, and passes the response on as fast as the client takes it. The server is never
//! kept waiting by a client: what that does not take is stored.

use std::io;
use std::time::Duration;

use corral_cgi::response::Head;
use corral_config::upstream::Timeouts;

use super::request_sender::RequestSender;
use super::response_reader::ResponseReader;
use crate::answer::proxy::attempt::AttemptOutcome;
use crate::answer::proxy::http1_request::{Http1Event, Http1Failure, MAX_HEAD, look_for_client, next_event};
use crate::answer::proxy::time_limit::TimeLimit;
use crate::error_chain::Chain;
use crate::exchange::request::RoutedRequest;
use crate::exchange::response::ResponseWriter;
use crate::exchange::writer::BodyWriter;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::{LoopServer, ServerFailure};

/// Bytes that a server may say of a request before the head of its response: words for the log, and records without
/// content.
const MOST_BEFORE_HEAD: u64 = 16 * 1024 * 1024;

/// A request and its response on their way.
pub(super) struct GatewayExchange<'e> {
    pub(super) source: ResponseReader<'e>,
    pub(super) outgoing: RequestSender<'e>,
    pub(super) server: &'e LoopServer,
    /// For what is waited for now.
    pub(super) clock: TimeLimit,
}

impl<'e> GatewayExchange<'e> {
    fn timeouts(&self) -> &'e Timeouts {
        &self.server.shared.options.timeouts
    }

    /// Sends the request and waits for the head of the response.
    pub(super) async fn ask(&mut self, response: &mut ResponseWriter<'_, '_>) -> Result<Head, Http1Failure> {
        let mut n_searched = 0;
        loop {
            let send_error = self.send();
            if let Some(error) = send_error.filter(|_| self.outgoing.has_sent_nothing()) {
                return Err(ServerFailure::Connect(error).into());
            }
            match self.next_event(response, self.timeouts().response).await {
                Http1Event::Received(received) => {
                    self.source.take(received);
                    if let Some(head) = self.take_head(&mut n_searched)? {
                        return Ok(head);
                    }
                    if self.source.n_received() > MOST_BEFORE_HEAD {
                        return Err(ServerFailure::Endless(MOST_BEFORE_HEAD).into());
                    }
                    look_for_client(response, self.outgoing.upload()).await?;
                }
                Http1Event::Room => {}
                Http1Event::Client(read) => read.map_err(Http1Failure::Body)?,
                Http1Event::Gone => return Err(Http1Failure::Gone),
                Http1Event::Elapsed => return Err(self.elapsed().into()),
            }
        }
    }

    /// Sends as much as there is room for. A server that takes no more may have answered all the same.
    fn send(&mut self) -> Option<io::Error> {
        let (connection, _) = self.source.open()?;
        let sent = self.outgoing.send(connection);
        self.source.is_asked = self.outgoing.is_complete();
        let error = sent.err()?;
        // A body of which no server has seen anything can be sent to another one in full.
        if !self.outgoing.has_sent_nothing() {
            self.outgoing.abandon();
        }
        Some(error)
    }

    /// The server has so much time for what is wanted of it, whatever else it says meanwhile.
    async fn next_event(&mut self, response: &mut ResponseWriter<'_, '_>, limit: Duration) -> Http1Event {
        let wants_room = !self.outgoing.is_sent();
        let limit = match wants_room {
            true => self.timeouts().send,
            false => self.clock.left(limit, response.now()),
        };
        let Some((connection, input)) = self.source.open() else { return Http1Event::Elapsed };
        next_event(response, connection, self.outgoing.upload(), wants_room, input, limit).await
    }

    fn elapsed(&self) -> ServerFailure {
        match self.outgoing.is_sent() {
            true => ServerFailure::ResponseTimedOut(self.timeouts().response),
            false => ServerFailure::SendTimedOut(self.timeouts().send),
        }
    }

    fn take_head(&mut self, n_searched: &mut usize) -> Result<Option<Head>, ServerFailure> {
        let head = Head::parse(&self.source.content, *n_searched)?;
        *n_searched = self.source.content.len();
        if head.as_ref().map_or(*n_searched, Head::len) > MAX_HEAD {
            return Err(ServerFailure::TooLarge(MAX_HEAD));
        }
        match (&head, self.source.end()) {
            (Some(_), Some(Err(failure))) => self.source.put_back(failure),
            (Some(_), _) | (None, None) => {}
            (None, Some(end)) => return Err(why_unanswered(end, *n_searched > 0)),
        }
        Ok(head)
    }

    /// Passes the response on, whose head is there.
    pub(super) async fn pass_on(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        head: &Head,
    ) -> Result<AttemptOutcome, Gone> {
        if response.intercepts(head.status(), head.fields(&self.source.content)) {
            return Ok(AttemptOutcome::Answered);
        }
        for (name, value) in head.fields(&self.source.content) {
            response.reply.fields.push_checked(name, value);
        }
        self.source.content.drain(..head.len());
        // A body that is all there need not be announced, but for the body that an answer to HEAD would have.
        let measured = self.source.n_left().filter(|&n| n > 0 || !response.request.is_head());
        let said = head.content_length();
        let mut writer = response.open(head.status(), said.or(measured));
        let is_all = measured.is_some_and(|n| n == self.source.content.len() as u64);
        // The length of a reply without a body does not matter.
        let said = said.filter(|_| !response.request.is_head() && !matches!(head.status(), 204 | 304));
        if is_all && said.is_none_or(|said| Some(said) == measured) {
            writer.finish(response, &self.source.content).await?;
            return Ok(AttemptOutcome::Answered);
        }
        let came = match self.stream(response, &mut writer).await? {
            Ok(came) => came,
            Err(failure) => return Ok(AttemptOutcome::Cut(failure)),
        };
        let finished = writer.finish(response, b"").await;
        let wrong = said.filter(|said| *said != came).map(|said| ServerFailure::WrongLength { said, came });
        match wrong {
            Some(failure) if said > Some(came) => Ok(AttemptOutcome::Cut(failure)),
            // The client has got what it was told of, and no more.
            Some(failure) => {
                self.source.log.push(Chain(&failure).to_string().as_bytes());
                finished.map(|()| AttemptOutcome::Answered)
            }
            None => finished.map(|()| AttemptOutcome::Answered),
        }
    }

    /// Passes the body on as it comes, and counts its bytes.
    async fn stream(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        writer: &mut BodyWriter,
    ) -> Result<Result<u64, ServerFailure>, Gone> {
        let mut n_passed = 0;
        self.clock = TimeLimit::default();
        loop {
            while let Some(piece) = self.source.pop().map_err(|_| Gone)? {
                self.clock = TimeLimit::default();
                n_passed += piece.len() as u64;
                self.send_piece(response, writer, &piece).await?;
                buffers::give(piece);
            }
            if let Some(end) = self.source.end() {
                return Ok(end.map(|()| n_passed));
            }
            writer.flush(response).await?;
            // It wants no more if it takes no more.
            let _ = self.send();
            match self.next_event(response, self.timeouts().read).await {
                Http1Event::Received(received) => {
                    self.source.take(received);
                    if self.source.content.is_empty() {
                        look_for_client(response, self.outgoing.upload()).await?;
                    }
                }
                Http1Event::Room => {}
                Http1Event::Client(_) | Http1Event::Gone => return Err(Gone),
                Http1Event::Elapsed => return Ok(Err(ServerFailure::ReadTimedOut(self.timeouts().read))),
            }
        }
    }

    /// Sends a piece to the client, and reads on as long as that takes.
    async fn send_piece(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        writer: &mut BodyWriter,
        piece: &[u8],
    ) -> Result<(), Gone> {
        tokio::select! {
            biased;
            sent = writer.send(response, piece) => sent,
            () = self.source.keep_filling() => Ok(()),
        }
    }

    /// Logs what the server has said of the request.
    pub(super) fn report(&mut self, request: &RoutedRequest<'_>) {
        self.source.log.report(request, &self.server.shared.text);
    }
}

/// The connection, or the request, has ended before there was a head.
fn why_unanswered(end: Result<(), ServerFailure>, has_begun: bool) -> ServerFailure {
    match end {
        Ok(()) => ServerFailure::Unanswered,
        Err(ServerFailure::Receive(_)) if has_begun => ServerFailure::Cut,
        Err(ServerFailure::Receive(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            ServerFailure::Closed
        }
        Err(failure) => failure,
    }
}
