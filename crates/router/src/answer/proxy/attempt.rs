//! A request on its way to one server, up to the end of the response.

use std::pin::pin;
use std::rc::Rc;

use corral_http::proxy_protocol::ProxiedConnection;

use super::download::Download;
use super::http1_request::{Http1Request, OutgoingHead};
use super::judgement::{Judge, judge};
use super::receive::AttemptFailure;
use super::relay::{Relayed, ResponseRelay};
use super::response_head::ResponseStart;
use super::retry::{FailedAttempt, RetryState, RetryTarget};
use super::upload::Upload;
use super::{checked_websocket, http2, request, tunnel};
use crate::answer::websocket;
use crate::clock::deadline::Elapsed;
use crate::exchange::carrier::ClientSignal;
use crate::exchange::response::ResponseWriter;
use crate::request::body::BodyError;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::{Freshness, LoopServer, ServerConnection, ServerFailure};

/// A request that is given to one server.
pub(crate) struct Attempt<'a> {
    server: &'a Rc<LoopServer>,
    upload: &'a mut Upload,
    was_sent: bool,
    /// Called when the connection is upgraded.
    on_upgrade: Option<&'a dyn Fn()>,
    /// The application whose WebSockets are held to the protocol.
    watched: Option<&'a str>,
    judge: Option<&'a Judge<'a>>,
}

/// How an attempt ended.
pub(crate) enum AttemptOutcome {
    Answered,
    /// Nothing was sent to the client.
    Failed(ServerFailure),
    /// The response broke off, and the client's connection with it.
    Cut(ServerFailure),
    Body(BodyError),
}

impl<'a> Attempt<'a> {
    pub(crate) fn new(server: &'a Rc<LoopServer>, upload: &'a mut Upload) -> Self {
        Self { server, upload, was_sent: false, on_upgrade: None, watched: None, judge: None }
    }

    /// Calls `told` when the connection is upgraded, before anything goes through.
    pub(crate) fn tell_of_upgrade(self, told: &'a dyn Fn()) -> Self {
        Self { on_upgrade: Some(told), ..self }
    }

    /// Holds a WebSocket to the protocol and the settings, in the name of this application; passes it on as it is
    /// without one.
    pub(crate) fn watch(self, program: Option<&'a str>) -> Self {
        Self { watched: program, ..self }
    }

    /// Has a judge look at the head of the response.
    pub(super) fn judged_by(self, judge: &'a Judge<'a>) -> Self {
        Self { judge: Some(judge), ..self }
    }

    /// Whether the server may have had it, on a connection that has ended since.
    pub(crate) fn was_sent(&self) -> bool {
        self.was_sent
    }

    /// Gives the request to the server; a kept connection that turns out to be closed is replaced by a new one.
    pub(crate) async fn run(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
    ) -> Result<AttemptOutcome, Gone> {
        if self.server.shared.options.http2 {
            return Box::pin(http2::run(response, self.server, (self.upload, self.judge))).await;
        }
        let is_idempotent = response.request.received.is_idempotent();
        let freshness = if is_idempotent { Freshness::Any } else { Freshness::Fresh };
        let mut retries = RetryState::new(RetryTarget::Connection, is_idempotent);
        loop {
            let (connection, is_kept) = match kept_or_open(response, self.server, freshness).await {
                Ok(connected) => connected,
                Err(broken) => return broken.into_outcome(),
            };
            retries.begin(self.server);
            self.was_sent = true;
            let failure = match self.send_request(response, connection).await? {
                AttemptOutcome::Failed(failure) => failure,
                outcome => return Ok(outcome),
            };
            let attempt = FailedAttempt { was_used: is_kept, ..FailedAttempt::new(&failure) };
            if !retries.retry(attempt, self.upload) {
                return Ok(AttemptOutcome::Failed(failure));
            }
        }
    }

    async fn send_request(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        mut connection: ServerConnection,
    ) -> Result<AttemptOutcome, Gone> {
        connection.begin_request();
        if request::wanted_upgrade(response.request).is_some() {
            connection.spoil();
        }
        let server = &self.server.shared;
        let timeouts = &server.options.timeouts;
        let mut head = buffers::take();
        request::append_head(response, server, self.upload.length(), &mut head);
        let upload = &mut *self.upload;
        let http1_request = Http1Request {
            connection: &mut connection,
            upload,
            timeouts,
            request: OutgoingHead::new(head),
            passes_interim: true,
        };
        let mut answer = match http1_request.run(response).await {
            Ok(answer) => answer,
            Err(broken) => return broken.into_outcome(),
        };
        let status = answer.head.status();
        if let Some(failure) = judge(self.judge, (response, self.server), status, self.upload) {
            dismiss(response, self.server, connection, answer, response.request.is_head());
            return Ok(AttemptOutcome::Failed(failure));
        }
        let relayed = self.pass_on(response, connection, &mut answer).await;
        buffers::give(answer.input);
        relayed
    }

    async fn pass_on(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        mut connection: ServerConnection,
        answer: &mut ResponseStart,
    ) -> Result<AttemptOutcome, Gone> {
        let timeouts = &self.server.shared.options.timeouts;
        if answer.head.status() == SWITCHING_PROTOCOLS {
            if request::wanted_upgrade(response.request).is_none() {
                return Ok(AttemptOutcome::Failed(ServerFailure::Switched));
            }
            response.note_upstream_head(SWITCHING_PROTOCOLS);
            if let Some(told) = self.on_upgrade {
                told();
            }
            match self.watched.filter(|_| websocket::is_wanted(response.request.received)) {
                Some(program) => {
                    Box::pin(checked_websocket::run(response, &mut connection, answer, program)).await?;
                }
                None => Box::pin(tunnel::run(response, &mut connection, answer, timeouts.tunnel)).await?,
            }
            return Ok(AttemptOutcome::Answered);
        }
        let mut relay = ResponseRelay { connection: &mut connection, upload: self.upload, timeouts };
        Ok(match relay.run(response, answer).await? {
            Relayed::Complete { reusable } => {
                if reusable {
                    keep(response, self.server, connection, answer.head.keep_alive_seconds());
                }
                AttemptOutcome::Answered
            }
            Relayed::Refused(failure) => AttemptOutcome::Failed(failure),
            Relayed::Cut(failure) => AttemptOutcome::Cut(failure),
        })
    }
}

const SWITCHING_PROTOCOLS: u16 = 101;

/// A connection that was kept, or a new one; whether it was kept.
pub(super) async fn kept_or_open(
    response: &ResponseWriter<'_, '_>,
    server: &LoopServer,
    freshness: Freshness,
) -> Result<(ServerConnection, bool), AttemptFailure> {
    match server.take_kept(freshness, response.now()) {
        Some(connection) => Ok((connection, true)),
        // In a box of its own, so that a request on a kept connection is not as large.
        None => Ok((Box::pin(open(response, server)).await?, false)),
    }
}

/// A new connection.
pub(super) async fn open(
    response: &ResponseWriter<'_, '_>,
    server: &LoopServer,
) -> Result<ServerConnection, AttemptFailure> {
    let client = if server.names_clients() { client_of(response) } else { None };
    let mut connection = connected(response, server, server.connect(client.as_ref())).await?;
    // It would be taken for the answer.
    if connection.has_spoken() { Err(ServerFailure::Unasked.into()) } else { Ok(connection) }
}

/// The client, as a server that is told of it by the connection has to see it; none for one of a Unix socket.
fn client_of(response: &ResponseWriter<'_, '_>) -> Option<ProxiedConnection> {
    let source = response.request.client.address?;
    Some(ProxiedConnection { source, destination: response.local_address()? })
}

/// The end of `connecting`, within the time limit and unless the client leaves before: a server whose queue is full
/// takes seconds, in which a client of HTTP/2 may take back any number of requests.
pub(super) async fn connected<T>(
    response: &ResponseWriter<'_, '_>,
    server: &LoopServer,
    connecting: impl Future<Output = Result<T, ServerFailure>>,
) -> Result<T, AttemptFailure> {
    let limit = server.shared.options.timeouts.connect;
    let connected = async {
        tokio::select! {
            biased;
            connected = connecting => connected.map_err(AttemptFailure::from),
            // A client may say that it sends nothing more before its body has been read.
            () = response.presence().gone(ClientSignal::Lasting) => Err(AttemptFailure::Gone),
        }
    };
    let connected = response.client.deadline.limit(limit, pin!(connected)).await;
    if let (Ok(Ok(_)), Some(log)) = (&connected, &response.reply.upstreams) {
        log.note_connection();
    }
    connected.unwrap_or_else(|Elapsed| Err(ServerFailure::ConnectTimedOut(limit).into()))
}

impl AttemptFailure {
    /// The same as the end of an attempt.
    pub(super) fn into_outcome(self) -> Result<AttemptOutcome, Gone> {
        match self {
            Self::Server(failure) => Ok(AttemptOutcome::Failed(failure)),
            Self::Body(error) => Ok(AttemptOutcome::Body(error)),
            Self::Gone => Err(Gone),
        }
    }
}

/// Nothing more of a response is wanted. The connection is kept if all of it is there.
pub(super) fn dismiss(
    response: &ResponseWriter<'_, '_>,
    server: &LoopServer,
    connection: ServerConnection,
    ResponseStart { head, input }: ResponseStart,
    is_head: bool,
) {
    let mut download = Download::new(head.body(is_head), false);
    let is_complete = download.take(&input[head.len()..]).is_ok_and(|(_, end)| end.is_some());
    if is_complete && !download.has_excess() && head.keep_alive(is_head) {
        keep(response, server, connection, head.keep_alive_seconds());
    }
    buffers::give(input);
}

/// Keeps a connection for other requests.
pub(super) fn keep(
    response: &ResponseWriter<'_, '_>,
    server: &LoopServer,
    connection: ServerConnection,
    server_seconds: Option<u64>,
) {
    if server.keep(connection, server_seconds, response.now()) {
        response.services.proxy_servers.idle.notify_one();
    }
}
