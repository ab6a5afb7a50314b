//! A request on its way to one server, up to the end of the response.

use std::pin::pin;
use std::rc::Rc;

use super::inquiry::{Broken, Inquiry, OutgoingHead, ResponseStart};
use super::relay::{Relay, Relayed};
use super::upload::Upload;
use super::{http2, request, tunnel, watched};
use crate::answer::websocket;
use crate::clock::deadline::Elapsed;
use crate::exchange::Exchange;
use crate::exchange::carrier::Sign;
use crate::request::body::BodyError;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::{Freshness, Line, LoopServer, Retry, ServerFailure};

/// A request that is given to one server.
pub(crate) struct Attempt<'a> {
    server: &'a Rc<LoopServer>,
    upload: &'a mut Upload,
    was_sent: bool,
    /// Called when the connection is upgraded.
    on_upgrade: Option<&'a dyn Fn()>,
    /// The application whose WebSockets are held to the protocol.
    watched: Option<&'a str>,
}

/// How an attempt ended.
pub(crate) enum Outcome {
    Answered,
    /// Nothing was sent to the client.
    Failed(ServerFailure),
    /// The response broke off, and the client's connection with it.
    Cut(ServerFailure),
    Body(BodyError),
}

impl<'a> Attempt<'a> {
    pub(crate) fn new(server: &'a Rc<LoopServer>, upload: &'a mut Upload) -> Self {
        Self { server, upload, was_sent: false, on_upgrade: None, watched: None }
    }

    /// Calls `told` when the connection is upgraded, before anything goes through.
    pub(crate) fn tell_of_upgrade(self, told: &'a dyn Fn()) -> Self {
        Self { on_upgrade: Some(told), ..self }
    }

    /// Holds a WebSocket to the protocol and the settings, in the name of this application; passes it on as it is without one.
    pub(crate) fn watch(self, program: Option<&'a str>) -> Self {
        Self { watched: program, ..self }
    }

    /// Whether the server may have had it, on a connection that has ended since.
    pub(crate) fn was_sent(&self) -> bool {
        self.was_sent
    }

    /// Gives the request to the server; a kept connection that turns out to be closed is replaced by a new one.
    pub(crate) async fn run(&mut self, exchange: &mut Exchange<'_>) -> Result<Outcome, Gone> {
        if self.server.shared.options.http2 {
            return Box::pin(http2::run(exchange, self.server, self.upload)).await;
        }
        let freshness = if exchange.request.is_idempotent() { Freshness::Any } else { Freshness::Fresh };
        loop {
            let kept = self.server.pool.borrow_mut().take(freshness, exchange.now());
            let is_kept = kept.is_some();
            let line = match kept {
                Some(line) => line,
                // In a box of its own, so that a request on a kept connection is not as large.
                None => match Box::pin(open(exchange, self.server)).await {
                    Ok(line) => line,
                    Err(broken) => return broken.into_outcome(),
                },
            };
            self.was_sent = true;
            let failure = match self.inquire(exchange, line).await? {
                Outcome::Failed(failure) => failure,
                outcome => return Ok(outcome),
            };
            let is_stale = is_kept && freshness == Freshness::Any && failure.retry() == Retry::Idempotent;
            if !is_stale || !self.upload.rewind() {
                return Ok(Outcome::Failed(failure));
            }
        }
    }

    async fn inquire(&mut self, exchange: &mut Exchange<'_>, mut line: Line) -> Result<Outcome, Gone> {
        line.begin_request();
        if request::wanted_upgrade(exchange).is_some() {
            line.spoil();
        }
        let server = &self.server.shared;
        let timeouts = &server.options.timeouts;
        let mut head = buffers::take();
        request::append_head(exchange, server, self.upload.length(), &mut head);
        let upload = &mut *self.upload;
        let inquiry = Inquiry {
            line: &mut line,
            upload,
            timeouts,
            request: OutgoingHead::new(head),
            passes_interim: true,
        };
        let mut answer = match inquiry.run(exchange).await {
            Ok(answer) => answer,
            Err(broken) => return broken.into_outcome(),
        };
        server.health.succeeded();
        let relayed = self.pass_on(exchange, line, &mut answer).await;
        buffers::give(answer.input);
        relayed
    }

    async fn pass_on(
        &mut self,
        exchange: &mut Exchange<'_>,
        mut line: Line,
        answer: &mut ResponseStart,
    ) -> Result<Outcome, Gone> {
        let timeouts = &self.server.shared.options.timeouts;
        if answer.head.status() == SWITCHING_PROTOCOLS {
            if request::wanted_upgrade(exchange).is_none() {
                return Ok(Outcome::Failed(ServerFailure::Switched));
            }
            if let Some(told) = self.on_upgrade {
                told();
            }
            match self.watched.filter(|_| websocket::is_wanted(exchange.request)) {
                Some(program) => Box::pin(watched::run(exchange, &mut line, answer, program)).await?,
                None => Box::pin(tunnel::run(exchange, &mut line, answer, timeouts.tunnel)).await?,
            }
            return Ok(Outcome::Answered);
        }
        let mut relay = Relay { line: &mut line, upload: self.upload, timeouts };
        Ok(match relay.run(exchange, answer).await? {
            Relayed::Complete { reusable } => {
                if reusable {
                    keep(exchange, self.server, line, answer.head.keep_alive_seconds());
                }
                Outcome::Answered
            }
            Relayed::Refused(failure) => Outcome::Failed(failure),
            Relayed::Cut(failure) => Outcome::Cut(failure),
        })
    }
}

const SWITCHING_PROTOCOLS: u16 = 101;

/// A new connection.
pub(super) async fn open(exchange: &Exchange<'_>, server: &LoopServer) -> Result<Line, Broken> {
    let mut line = connected(exchange, server, server.connect()).await?;
    // It would be taken for the answer.
    if line.has_spoken() { Err(ServerFailure::Unasked.into()) } else { Ok(line) }
}

/// The end of `connecting`, within the time limit and unless the client leaves before: a server whose queue is full takes
/// seconds, in which a client of HTTP/2 may take back any number of requests.
pub(super) async fn connected<T>(
    exchange: &Exchange<'_>,
    server: &LoopServer,
    connecting: impl Future<Output = Result<T, ServerFailure>>,
) -> Result<T, Broken> {
    let limit = server.shared.options.timeouts.connect;
    let connected = async {
        tokio::select! {
            biased;
            connected = connecting => connected.map_err(Broken::from),
            // A client may say that it sends nothing more before its body has been read.
            () = exchange.audience().gone(Sign::Lasting) => Err(Broken::Gone),
        }
    };
    let connected = exchange.deadline.limit(limit, pin!(connected)).await;
    connected.unwrap_or_else(|Elapsed| Err(ServerFailure::ConnectTimedOut(limit).into()))
}

impl Broken {
    /// The same as the end of an attempt.
    pub(super) fn into_outcome(self) -> Result<Outcome, Gone> {
        match self {
            Self::Server(failure) => Ok(Outcome::Failed(failure)),
            Self::Body(error) => Ok(Outcome::Body(error)),
            Self::Gone => Err(Gone),
        }
    }
}

/// Keeps a connection for other requests.
pub(super) fn keep(exchange: &Exchange<'_>, server: &LoopServer, line: Line, server_seconds: Option<u64>) {
    let rules = &server.shared.options.keepalive;
    if server.pool.borrow_mut().put(line, rules, server_seconds, exchange.now()) {
        exchange.services.proxy_servers.idle.notify_one();
    }
}
