//! A request at a program of an application, whose turn it is. No other request is at that program, so that there is
//! one connection for each that it serves at once, which is kept from one request to the next.

use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use corral_config::protocol::Protocol;

use super::connection_return::ConnectionReturn;
use super::exchange::GatewayExchange;
use super::request_sender::announce;
use super::{Connected, GatewayRequest, RequestStart, begin, send_request};
use crate::answer::proxy::attempt::{self, AttemptOutcome};
use crate::answer::proxy::receive::AttemptFailure;
use crate::answer::proxy::upload::Upload;
use crate::clock::deadline::Elapsed;
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::upstream::{KeptConnection, LoopServer, ProcessPresence, ServerConnection, ServerFailure};

/// How often others are let run before the program is waited for by the clock.
const MOST_YIELDS: u32 = 8;

/// How long to wait before it is looked again whether a program is back, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// A request on its way to a program.
pub(crate) struct ProgramRequest<'e> {
    pub(crate) server: &'e Rc<LoopServer>,
    pub(crate) upload: &'e mut Upload,
    pub(crate) gateway_request: &'e GatewayRequest,
    /// Called as soon as the program is released; the client may still take the response.
    pub(crate) on_end: &'e dyn Fn(),
    /// Nothing of the request is sent before the program is seen to listen, because it could not be repeated.
    pub(crate) is_careful: bool,
}

impl ProgramRequest<'_> {
    /// Gives the request to the program. It has seen nothing of it when that fails with [`ServerFailure::Connect`].
    pub(crate) async fn run(self, response: &mut ResponseWriter<'_, '_>) -> Result<AttemptOutcome, Gone> {
        let Self { server, upload, gateway_request, on_end, is_careful } = self;
        let connected = match gateway_request.protocol {
            Protocol::FastCgi => Box::pin(connect(response, server, is_careful)).await,
            // What starts scripts has a connection for each.
            Protocol::Scgi | Protocol::Uwsgi => {
                let opened = Box::pin(attempt::open(response, server)).await;
                opened.map(|connection| (connection, RequestStart::Closing, None))
            }
        };
        let transport = match connected {
            Ok(connected) => begin(connected, gateway_request).for_program(on_end),
            Err(broken) => return broken.into_outcome(),
        };
        let conversation = GatewayExchange::new(transport, upload, server);
        Box::pin(send_request(response, conversation, None)).await
    }
}

/// The connection that was kept, or a new one; with care one that the program has begun to read from.
async fn connect<'k, 'c: 'k>(
    response: &ResponseWriter<'_, 'c>,
    server: &'k Rc<LoopServer>,
    is_careful: bool,
) -> Result<Connected<'k>, AttemptFailure> {
    loop {
        let (slot, kept) = match server.take_own_slot(response.now()) {
            Some((slot, kept)) => (Some(slot), kept),
            None => (None, None),
        };
        let is_kept = kept.is_some();
        let (mut connection, begin) = match kept {
            Some(KeptConnection { connection, presence: ProcessPresence::Unknown }) => {
                (connection, RequestStart::Announced)
            }
            Some(KeptConnection { mut connection, .. }) if is_careful => {
                // That it reads the end of a body late has been seen, and need not be so each time.
                if announce(&mut connection).is_err() {
                    continue;
                }
                (connection, RequestStart::Announced)
            }
            Some(KeptConnection { connection, .. }) => (connection, RequestStart::Again),
            None if is_careful => {
                let mut connection = attempt::open(response, server).await?;
                announce(&mut connection).map_err(ServerFailure::Connect)?;
                (connection, RequestStart::Announced)
            }
            None => (attempt::open(response, server).await?, RequestStart::Keeping),
        };
        if is_careful {
            let limit = server.shared.options.timeouts.send;
            match response.client.deadline.limit(limit, pin!(is_back(&mut connection))).await {
                Err(Elapsed) => return Err(ServerFailure::SendTimedOut(limit).into()),
                // Its process has left between two requests. Perhaps it is another connection that it has left.
                Ok(false) if is_kept => continue,
                Ok(false) => {
                    return Err(ServerFailure::Connect(io::ErrorKind::ConnectionReset.into()).into());
                }
                Ok(true) => {}
            }
        }
        connection.begin_request();
        let services = response.services;
        let connection_return = slot.map(|slot| ConnectionReturn {
            slot,
            server,
            servers: &services.proxy_servers,
            clock: &services.deadlines,
        });
        return Ok((connection, begin, connection_return));
    }
}

/// Waits until a program whose request was given up is seen to be back, and keeps the connection at which that was
/// seen.
pub(crate) async fn await_return(server: Rc<LoopServer>) {
    let Some((slot, kept)) = server.take_own_slot(Instant::now()) else { return };
    let kept = match kept {
        Some(kept) => Some(kept),
        None => {
            let connecting =
                tokio::time::timeout(server.shared.options.timeouts.connect, server.connect(None));
            connecting.await.ok().and_then(Result::ok).and_then(|mut connection| {
                announce(&mut connection).ok()?;
                Some(KeptConnection { connection, presence: ProcessPresence::Unknown })
            })
        }
    };
    let Some(mut kept) = kept else { return };
    if is_back(&mut kept.connection).await {
        server.leave_slot(slot, kept, Instant::now());
    }
}

/// Waits until the program has read the beginning of a request, from where on the request is its own; false when it
/// closes the connection before.
async fn is_back(connection: &mut ServerConnection) -> bool {
    let (mut n_looks, mut pause) = (0, FIRST_PAUSE);
    loop {
        // What a connection holds that is being closed is gone before its end is seen: so this one is asked last.
        if connection.is_heard() {
            return !connection.has_hung_up() && connection.is_quiet();
        }
        if !connection.is_quiet() {
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
