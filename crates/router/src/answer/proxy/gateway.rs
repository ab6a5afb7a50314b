//! A request to a server that speaks FastCGI, SCGI or uwsgi: one on a connection at a time, which a process of the server has
//! for itself.

mod conversation;
mod errand;
mod error_output;
mod keeper;
mod outgoing;
mod source;

use std::pin::pin;
use std::rc::Rc;

use corral_cgi::fastcgi;
use corral_config::gateway::Protocol;

use self::conversation::Conversation;
pub(crate) use self::errand::{Errand, await_return};
use self::keeper::Keeper;
use self::outgoing::Outgoing;
use self::source::Source;
use super::attempt::{self, Outcome};
use super::clock::Clock;
use super::inquiry::Broken;
use super::upload::Upload;
use crate::clock::deadline::Elapsed;
use crate::exchange::Exchange;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::{Freshness, Kept, Line, LoopServer, Presence, Retry, Seat, ServerFailure, Waiting};

/// A request as a server gets it, but for its body.
pub(crate) struct Envelope {
    pub(crate) protocol: Protocol,
    pub(crate) bytes: Vec<u8>,
}

impl Envelope {
    /// The first bytes for a connection, on which the request has this number.
    fn opening(&self, begin: Begin, id: u16) -> Vec<u8> {
        let mut bytes = buffers::take();
        if self.protocol == Protocol::FastCgi && begin != Begin::Announced {
            fastcgi::append_begin(begin != Begin::Closing, &mut bytes);
        }
        bytes.extend_from_slice(&self.bytes);
        if self.protocol == Protocol::FastCgi {
            fastcgi::set_request_id(id, &mut bytes);
        }
        bytes
    }
}

impl Drop for Envelope {
    fn drop(&mut self) {
        buffers::give(std::mem::take(&mut self.bytes));
    }
}

/// How a request begins on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// The server closes the connection behind it.
    Closing,
    /// The server leaves the connection open.
    Keeping,
    /// The same on a connection that was left open.
    Again,
    /// The beginning was sent when the last request ended.
    Announced,
}

/// Gives the request to the server. One whose process leaves, or is told to, before it has said anything is asked once more,
/// as far as the request permits that: another process takes the next connection.
pub(super) async fn run(
    exchange: &mut Exchange<'_>,
    server: &Rc<LoopServer>,
    upload: &mut Upload,
    envelope: &Envelope,
) -> Result<Outcome, Gone> {
    let mut is_first = true;
    loop {
        let (line, begin, keeper) = match connect(exchange, server).await {
            Ok(connected) => connected,
            Err(broken) => return broken.into_outcome(),
        };
        let crowd = keeper.as_ref().filter(|_| begin == Begin::Keeping).map(|keeper| keeper.seat.seats());
        let id = fastcgi::request_id(line.n_requests());
        let outgoing = Outgoing::new(envelope.opening(begin, id), envelope.protocol, id, upload);
        let source = Source::new(line, envelope.protocol, keeper);
        let conversation = Conversation { source, outgoing, server, clock: Clock::default() };
        let inquiry = Box::pin(inquire(exchange, conversation));
        let inquired = match crowd {
            None => inquiry.await,
            Some(seats) => tokio::select! {
                biased;
                inquired = inquiry => inquired,
                () = seats.keep_relieving() => Err(Gone),
            },
        };
        let failure = match inquired? {
            Outcome::Failed(failure) => failure,
            outcome => return Ok(outcome),
        };
        let was_kept = matches!(begin, Begin::Again | Begin::Announced);
        let may_repeat = match failure.retry() {
            // A process that leaves may have accepted a new connection, too.
            Retry::Any => was_kept || is_first && matches!(failure, ServerFailure::Connect(_)),
            Retry::Idempotent => (was_kept || is_first) && exchange.request.is_idempotent(),
            Retry::Never => false,
        };
        if !may_repeat || !upload.rewind() {
            return Ok(Outcome::Failed(failure));
        }
        is_first = was_kept;
    }
}

/// A connection for a request, how that begins on it, and where it goes afterwards if it is kept.
type Connected<'k> = (Line, Begin, Option<Keeper<'k>>);

async fn connect<'k, 'c: 'k>(
    exchange: &Exchange<'c>,
    server: &'k Rc<LoopServer>,
) -> Result<Connected<'k>, Broken> {
    let services = exchange.services;
    // A process may be leaving behind its last request, and takes a request along that comes on the same connection. So one
    // that must not be repeated has a connection of its own: only a process that stays accepts that.
    let freshness = if exchange.request.is_idempotent() { Freshness::Any } else { Freshness::Fresh };
    let (seat, kept) = match server.take_seat(&services.proxy_servers, freshness, exchange.now()) {
        None => return Ok((Box::pin(attempt::open(exchange, server)).await?, Begin::Closing, None)),
        Some(Ok(taken)) => taken,
        Some(Err(waiting)) => Box::pin(wait(exchange, server, waiting)).await?,
    };
    let (mut line, begin) = match kept {
        Some(Kept { line, presence: Presence::Unknown }) => (line, Begin::Announced),
        Some(Kept { line, .. }) => (line, Begin::Again),
        None => (Box::pin(attempt::open(exchange, server)).await?, Begin::Keeping),
    };
    line.begin_request();
    let keeper = Keeper { seat, server, servers: &services.proxy_servers, clock: &services.deadlines };
    Ok((line, begin, Some(keeper)))
}

/// Waits until a process of the server is free, which is a part of the time for a response.
async fn wait(
    exchange: &Exchange<'_>,
    server: &LoopServer,
    mut waiting: Waiting,
) -> Result<(Seat, Option<Kept>), Broken> {
    let limit = server.shared.options.timeouts.response;
    let seat = pin!(async {
        tokio::select! {
            biased;
            taken = waiting.seat() => Ok(taken),
            () = exchange.audience().left_waiting() => Err(Broken::Gone),
        }
    });
    match exchange.deadline.limit(limit, seat).await {
        Ok(taken) => taken,
        Err(Elapsed) => Err(ServerFailure::Occupied(limit).into()),
    }
}

async fn inquire(exchange: &mut Exchange<'_>, mut conversation: Conversation<'_>) -> Result<Outcome, Gone> {
    let asked = conversation.ask(exchange).await;
    let outcome = match asked {
        Ok(head) => {
            conversation.server.shared.health.succeeded();
            conversation.pass_on(exchange, &head).await
        }
        Err(broken) => broken.into_outcome(),
    };
    conversation.report(exchange);
    outcome
}
