//! One request on one connection: asks, and passes the response on as fast as the client takes it. The server is never
//! kept waiting by a client: what that does not take is stored.

use std::io;

use corral_cgi::response::Head;
use corral_config::upstream::Timeouts;

use super::transport::GatewayTransport;
use crate::answer::proxy::attempt::AttemptOutcome;
use crate::answer::proxy::judgement::{self, Judge};
use crate::answer::proxy::receive::{AttemptFailure, look_for_client, receive};
use crate::answer::proxy::response_head::MAX_HEAD;
use crate::answer::proxy::server_headers;
use crate::answer::proxy::time_limit::{ResponsePart, WaitLimit};
use crate::answer::proxy::upload::Upload;
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
    transport: GatewayTransport<'e>,
    upload: &'e mut Upload,
    pub(super) server: &'e LoopServer,
}

impl<'e> GatewayExchange<'e> {
    pub(super) fn new(
        transport: GatewayTransport<'e>,
        upload: &'e mut Upload,
        server: &'e LoopServer,
    ) -> Self {
        Self { transport, upload, server }
    }

    fn timeouts(&self) -> &'e Timeouts {
        &self.server.shared.options.timeouts
    }

    /// Sends the request and waits for the head of the response.
    pub(super) async fn ask(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
    ) -> Result<Head, AttemptFailure> {
        let mut n_searched = 0;
        let mut limit = WaitLimit::new(ResponsePart::Head, self.timeouts());
        loop {
            let received = receive(response, (&mut self.transport, self.upload), &mut limit).await?;
            self.transport.source.take(received);
            if let Some(head) = self.take_head(&mut n_searched)? {
                self.transport.is_answered = true;
                return Ok(head);
            }
            if self.transport.source.n_received() > MOST_BEFORE_HEAD {
                return Err(ServerFailure::Endless(MOST_BEFORE_HEAD).into());
            }
            look_for_client(response, self.upload).await?;
        }
    }

    fn take_head(&mut self, n_searched: &mut usize) -> Result<Option<Head>, ServerFailure> {
        let head = Head::parse(&self.transport.source.content, *n_searched)?;
        *n_searched = self.transport.source.content.len();
        if head.as_ref().map_or(*n_searched, Head::len) > MAX_HEAD {
            return Err(ServerFailure::TooLarge(MAX_HEAD));
        }
        match (&head, self.transport.source.end()) {
            (Some(_), Some(Err(failure))) => self.transport.source.put_back(failure),
            (Some(_), _) | (None, None) => {}
            (None, Some(end)) => return Err(why_unanswered(end, *n_searched > 0)),
        }
        Ok(head)
    }

    /// The failure that a response of this status is, if the request goes on to another server.
    pub(super) fn judge(
        &self,
        response: &ResponseWriter<'_, '_>,
        judge: Option<&Judge<'_>>,
        status: u16,
    ) -> Option<ServerFailure> {
        judgement::judge(judge, (response, self.server), status, self.upload)
    }

    /// Passes the response on, whose head is there.
    pub(super) async fn pass_on(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        head: &Head,
    ) -> Result<AttemptOutcome, Gone> {
        if response.intercepts(head.status(), head.fields(&self.transport.source.content)) {
            return Ok(AttemptOutcome::Answered);
        }
        server_headers::take_over(response, head.fields(&self.transport.source.content));
        self.transport.source.content.drain(..head.len());
        // A body that is all there need not be announced, but for the body that an answer to HEAD would have.
        let measured = self.transport.source.n_left().filter(|&n| n > 0 || !response.request.is_head());
        let said = head.content_length();
        let mut writer = response.open(head.status(), said.or(measured));
        let is_all = measured.is_some_and(|n| n == self.transport.source.content.len() as u64);
        // The length of a reply without a body does not matter.
        let said = said.filter(|_| !response.request.is_head() && !matches!(head.status(), 204 | 304));
        if is_all && said.is_none_or(|said| Some(said) == measured) {
            writer.finish(response, &self.transport.source.content).await?;
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
                self.transport.source.log.push(Chain(&failure).to_string().as_bytes());
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
        let mut limit = WaitLimit::new(ResponsePart::Output, self.timeouts());
        loop {
            while let Some(piece) = self.transport.source.pop().map_err(|_| Gone)? {
                limit = WaitLimit::new(ResponsePart::Output, self.timeouts());
                n_passed += piece.len() as u64;
                self.send_piece(response, writer, &piece).await?;
                buffers::give(piece);
            }
            if let Some(end) = self.transport.source.end() {
                return Ok(end.map(|()| n_passed));
            }
            writer.flush(response).await?;
            match receive(response, (&mut self.transport, self.upload), &mut limit).await {
                Ok(received) => self.transport.source.take(received),
                Err(failure) => return failure.of_server().map(Err),
            }
            if self.transport.source.content.is_empty() {
                look_for_client(response, self.upload).await?;
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
            () = self.transport.source.keep_filling() => Ok(()),
        }
    }

    /// Logs what the server has said of the request.
    pub(super) fn report(&mut self, request: &RoutedRequest<'_>) {
        self.transport.source.log.report(request, &self.server.shared.text);
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
