//! A request to a server that speaks FastCGI, SCGI or uwsgi: one on a connection at a time, which a process of the server has
//! for itself.

mod conversation;
mod error_output;
mod keeper;
mod outgoing;
mod source;

use std::rc::Rc;

use corral_cgi::fastcgi;
use corral_config::gateway::Protocol;

use self::conversation::Conversation;
use self::keeper::Keeper;
use self::outgoing::Outgoing;
use self::source::Source;
use super::attempt::{self, Outcome};
use super::inquiry::Broken;
use super::upload::Upload;
use crate::exchange::Exchange;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::{Freshness, Line, LoopServer, Retry, ServerFailure};

/// A request as a server gets it, but for its body.
pub(crate) struct Envelope {
    pub(crate) protocol: Protocol,
    pub(crate) bytes: Vec<u8>,
}

impl Envelope {
    /// The first bytes for a connection.
    fn opening(&self, begin: Begin) -> Vec<u8> {
        let mut bytes = buffers::take();
        if self.protocol == Protocol::FastCgi && begin != Begin::Announced {
            fastcgi::append_begin(begin == Begin::Keeping, &mut bytes);
        }
        bytes.extend_from_slice(&self.bytes);
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
        let (line, begin, keeper) = match Box::pin(connect(exchange, server)).await {
            Ok(connected) => connected,
            Err(failure) => return Ok(Outcome::Failed(failure)),
        };
        let crowd = keeper.as_ref().filter(|keeper| !keeper.is_open).map(|keeper| keeper.seat.seats());
        let source = Source::new(line, envelope.protocol, keeper);
        let outgoing = Outgoing::new(envelope.opening(begin), envelope.protocol, upload);
        let conversation = Conversation { source, outgoing, server };
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
        let was_kept = begin == Begin::Announced;
        let may_repeat = match failure.retry() {
            Retry::Any => was_kept,
            Retry::Idempotent => (was_kept || is_first) && exchange.request.is_idempotent(),
            Retry::Never => false,
        };
        if !may_repeat || !upload.rewind() {
            return Ok(Outcome::Failed(failure));
        }
        is_first = was_kept;
    }
}

/// A connection for the request, and where it goes afterwards if it is kept.
async fn connect<'k, 'c: 'k>(
    exchange: &Exchange<'c>,
    server: &'k Rc<LoopServer>,
) -> Result<(Line, Begin, Option<Keeper<'k>>), ServerFailure> {
    let freshness = if exchange.request.is_idempotent() { Freshness::Any } else { Freshness::Fresh };
    let Some((seat, kept)) = server.take_seat(freshness, exchange.now()) else {
        return Ok((attempt::open(exchange, server).await?, Begin::Closing, None));
    };
    let (mut line, begin) = match kept {
        Some(line) => (line, Begin::Announced),
        // Its process is wanted by others, and need not wait until this end closes the connection.
        None if seat.is_wanted() => (attempt::open(exchange, server).await?, Begin::Closing),
        None => (attempt::open(exchange, server).await?, Begin::Keeping),
    };
    line.begin_request();
    let services = exchange.services;
    let keeper = Keeper {
        seat,
        server,
        servers: &services.proxy_servers,
        clock: &services.deadlines,
        is_open: begin != Begin::Closing,
    };
    Ok((line, begin, Some(keeper)))
}

async fn inquire(exchange: &mut Exchange<'_>, mut conversation: Conversation<'_>) -> Result<Outcome, Gone> {
    let asked = conversation.ask(exchange).await;
    let outcome = match asked {
        Ok(head) => {
            conversation.server.shared.health.succeeded();
            conversation.pass_on(exchange, &head).await
        }
        Err(Broken::Server(failure)) => Ok(Outcome::Failed(failure)),
        Err(Broken::Body(error)) => Ok(Outcome::Body(error)),
        Err(Broken::Gone) => Err(Gone),
    };
    conversation.report(exchange);
    outcome
}
