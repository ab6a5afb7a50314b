//! A request at a program of an application, whose turn it is. Nobody else asks that program, so that there is one connection for
//! each of its hands, which is kept from one request to the next.

use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use corral_cgi::fastcgi;
use corral_config::gateway::Protocol;

use super::conversation::Conversation;
use super::keeper::Keeper;
use super::outgoing::{Outgoing, announce};
use super::source::Source;
use super::{Begin, Connected, Envelope, inquire};
use crate::answer::proxy::attempt::{self, Outcome};
use crate::answer::proxy::clock::Clock;
use crate::answer::proxy::inquiry::Broken;
use crate::answer::proxy::upload::Upload;
use crate::clock::deadline::Elapsed;
use crate::exchange::Exchange;
use crate::request::client::Gone;
use crate::upstream::{Kept, Line, LoopServer, Presence, ServerFailure};

/// How often others are let run before the program is waited for by the clock.
const MOST_YIELDS: u32 = 8;

/// How long to wait before it is looked again whether a program is back, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// A request on its way to a program.
pub(crate) struct Errand<'e> {
    pub(crate) server: &'e Rc<LoopServer>,
    pub(crate) upload: &'e mut Upload,
    pub(crate) envelope: &'e Envelope,
    /// Called as soon as the program has its hand free; the client may still take the response.
    pub(crate) on_end: &'e dyn Fn(),
    /// Nothing of the request is sent before the program is seen to listen, because it could not be repeated.
    pub(crate) is_careful: bool,
}

impl Errand<'_> {
    /// Gives the request to the program. It has seen nothing of it when that fails with [`ServerFailure::Connect`].
    pub(crate) async fn run(self, exchange: &mut Exchange<'_>) -> Result<Outcome, Gone> {
        let Self { server, upload, envelope, on_end, is_careful } = self;
        let connected = match envelope.protocol {
            Protocol::FastCgi => Box::pin(connect(exchange, server, is_careful)).await,
            // What starts scripts has a connection for each.
            Protocol::Scgi | Protocol::Uwsgi => {
                let opened = Box::pin(attempt::open(exchange, server)).await;
                opened.map(|line| (line, Begin::Closing, None))
            }
        };
        let (line, begin, keeper) = match connected {
            Ok(connected) => connected,
            Err(broken) => return broken.into_outcome(),
        };
        let id = fastcgi::request_id(line.n_requests());
        let outgoing =
            Outgoing::new(envelope.opening(begin, id), envelope.protocol, id, upload).ending_visibly();
        let source = Source::new(line, envelope.protocol, keeper).tell_of_end(on_end);
        let conversation = Conversation { source, outgoing, server, clock: Clock::default() };
        Box::pin(inquire(exchange, conversation)).await
    }
}

/// The connection that was kept, or a new one; with care one that the program has begun to read from.
async fn connect<'k, 'c: 'k>(
    exchange: &Exchange<'c>,
    server: &'k Rc<LoopServer>,
    is_careful: bool,
) -> Result<Connected<'k>, Broken> {
    loop {
        let (seat, kept) = match server.take_own_seat(exchange.now()) {
            Some((seat, kept)) => (Some(seat), kept),
            None => (None, None),
        };
        let is_kept = kept.is_some();
        let (mut line, begin) = match kept {
            Some(Kept { line, presence: Presence::Unknown }) => (line, Begin::Announced),
            Some(Kept { line, .. }) => (line, Begin::Again),
            None if is_careful => {
                let mut line = attempt::open(exchange, server).await?;
                announce(&mut line).map_err(ServerFailure::Connect)?;
                (line, Begin::Announced)
            }
            None => (attempt::open(exchange, server).await?, Begin::Keeping),
        };
        if is_careful {
            let limit = server.shared.options.timeouts.send;
            match exchange.deadline.limit(limit, pin!(is_back(&mut line))).await {
                Err(Elapsed) => return Err(ServerFailure::SendTimedOut(limit).into()),
                // Its process has left between two requests. Perhaps it is another connection that it has left.
                Ok(false) if is_kept => continue,
                Ok(false) => {
                    return Err(ServerFailure::Connect(io::ErrorKind::ConnectionReset.into()).into());
                }
                Ok(true) => {}
            }
        }
        line.begin_request();
        let services = exchange.services;
        let keeper = seat.map(|seat| Keeper {
            seat,
            server,
            servers: &services.proxy_servers,
            clock: &services.deadlines,
        });
        return Ok((line, begin, keeper));
    }
}

/// Waits until a program whose request was given up is seen to be back, and keeps the connection at which that was seen.
pub(crate) async fn await_return(server: Rc<LoopServer>) {
    let Some((seat, kept)) = server.take_own_seat(Instant::now()) else { return };
    let kept = match kept {
        Some(kept) => Some(kept),
        None => {
            let connecting = tokio::time::timeout(server.shared.options.timeouts.connect, server.connect());
            connecting.await.ok().and_then(Result::ok).and_then(|mut line| {
                announce(&mut line).ok()?;
                Some(Kept { line, presence: Presence::Unknown })
            })
        }
    };
    let Some(mut kept) = kept else { return };
    if is_back(&mut kept.line).await {
        server.leave_seat(seat, kept, Instant::now());
    }
}

/// Waits until the program has read the beginning of a request, from where on the request is its own; false when it closes the
/// connection before.
async fn is_back(line: &mut Line) -> bool {
    let (mut n_looks, mut pause) = (0, FIRST_PAUSE);
    loop {
        // What a connection holds that is being closed is gone before its end is seen: so this one is asked last.
        if line.is_heard() {
            return !line.has_hung_up() && line.is_quiet();
        }
        if !line.is_quiet() {
            return false;
        }
        n_looks += 1;
        if n_looks < MOST_YIELDS {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
