//! A request to a server that speaks FastCGI, SCGI or uwsgi: one on a connection at a time, which a process of the
//! server has for itself.

mod connection_return;
mod error_output;
mod exchange;
mod program_request;
mod request_sender;
mod response_reader;
mod transport;

use std::pin::pin;
use std::rc::Rc;

use corral_cgi::fastcgi;
use corral_config::protocol::Protocol;

use self::connection_return::ConnectionReturn;
use self::exchange::GatewayExchange;
pub(crate) use self::program_request::{ProgramRequest, await_return};
use self::request_sender::RequestSender;
use self::response_reader::ResponseReader;
use self::transport::GatewayTransport;
use super::attempt::{self, AttemptOutcome};
use super::judgement::Judge;
use super::receive::AttemptFailure;
use super::retry::{FailedAttempt, RetryState, RetryTarget};
use super::upload::Upload;
use crate::clock::deadline::Elapsed;
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::{
    Freshness, KeptConnection, LoopServer, ProcessPresence, ProcessSlot, ServerConnection, ServerFailure,
    SlotFuture,
};

/// A request as a server gets it, but for its body.
pub(crate) struct GatewayRequest {
    pub(crate) protocol: Protocol,
    pub(crate) bytes: Vec<u8>,
}

impl GatewayRequest {
    /// The first bytes for a connection, on which the request has this number.
    fn opening(&self, begin: RequestStart, id: u16) -> Vec<u8> {
        let mut bytes = buffers::take();
        if self.protocol == Protocol::FastCgi && begin != RequestStart::Announced {
            fastcgi::append_begin(begin != RequestStart::Closing, &mut bytes);
        }
        bytes.extend_from_slice(&self.bytes);
        if self.protocol == Protocol::FastCgi {
            fastcgi::set_request_id(id, &mut bytes);
        }
        bytes
    }
}

impl Drop for GatewayRequest {
    fn drop(&mut self) {
        buffers::give(std::mem::take(&mut self.bytes));
    }
}

/// How a request begins on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestStart {
    /// The server closes the connection behind it.
    Closing,
    /// The server leaves the connection open.
    Keeping,
    /// The same on a connection that was left open.
    Again,
    /// The beginning was sent when the last request ended.
    Announced,
}

/// Gives the request to the server. One whose process leaves, or is told to, before it has said anything is asked once
/// more, as far as the request permits that: another process takes the next connection.
pub(super) async fn run(
    response: &mut ResponseWriter<'_, '_>,
    server: &Rc<LoopServer>,
    (upload, judge): (&mut Upload, Option<&Judge<'_>>),
    gateway_request: &GatewayRequest,
) -> Result<AttemptOutcome, Gone> {
    let mut retries = RetryState::new(RetryTarget::Process, response.request.received.is_idempotent());
    loop {
        let connected = match connect(response, server).await {
            Ok(connected) => connected,
            Err(broken) => return broken.into_outcome(),
        };
        retries.begin(server);
        let (_, start, connection_return) = &connected;
        let start = *start;
        let crowd = connection_return
            .as_ref()
            .filter(|_| start == RequestStart::Keeping)
            .map(|connection_return| connection_return.slot.slots());
        let conversation = GatewayExchange::new(begin(connected, gateway_request), upload, server);
        let asking = Box::pin(send_request(response, conversation, judge));
        let asked = match crowd {
            None => asking.await,
            Some(slots) => tokio::select! {
                biased;
                asked = asking => asked,
                () = slots.keep_relieving() => Err(Gone),
            },
        };
        let failure = match asked? {
            AttemptOutcome::Failed(failure) => failure,
            outcome => return Ok(outcome),
        };
        let was_used = matches!(start, RequestStart::Again | RequestStart::Announced);
        if !retries.retry(FailedAttempt { was_used, ..FailedAttempt::new(&failure) }, upload) {
            return Ok(AttemptOutcome::Failed(failure));
        }
    }
}

/// A connection for a request, how that begins on it, and where it goes afterwards if it is kept.
type Connected<'k> = (ServerConnection, RequestStart, Option<ConnectionReturn<'k>>);

/// The request on its connection, of which nothing was sent.
fn begin<'k>(
    (connection, start, connection_return): Connected<'k>,
    request: &GatewayRequest,
) -> GatewayTransport<'k> {
    let id = fastcgi::request_id(connection.n_requests());
    let outgoing = RequestSender::new(request.opening(start, id), request.protocol, id);
    GatewayTransport::new(ResponseReader::new(connection, request.protocol, connection_return), outgoing)
}

async fn connect<'k, 'c: 'k>(
    response: &ResponseWriter<'_, 'c>,
    server: &'k Rc<LoopServer>,
) -> Result<Connected<'k>, AttemptFailure> {
    let services = response.services;
    // A process may be leaving behind its last request, and takes a request along that comes on the same connection. So
    // one that must not be repeated has a connection of its own: only a process that stays accepts that.
    let freshness = if response.request.received.is_idempotent() { Freshness::Any } else { Freshness::Fresh };
    let (slot, kept) = match server.take_slot(&services.proxy_servers, freshness, response.now()) {
        None => return Ok((Box::pin(attempt::open(response, server)).await?, RequestStart::Closing, None)),
        Some(Ok(taken)) => taken,
        Some(Err(waiting)) => Box::pin(wait(response, server, waiting)).await?,
    };
    let (mut connection, begin) = match kept {
        Some(KeptConnection { connection, presence: ProcessPresence::Unknown }) => {
            (connection, RequestStart::Announced)
        }
        Some(KeptConnection { connection, .. }) => (connection, RequestStart::Again),
        None => (Box::pin(attempt::open(response, server)).await?, RequestStart::Keeping),
    };
    connection.begin_request();
    let connection_return =
        ConnectionReturn { slot, server, servers: &services.proxy_servers, clock: &services.deadlines };
    Ok((connection, begin, Some(connection_return)))
}

/// Waits until a process of the server is free, which is a part of the time for a response.
async fn wait(
    response: &ResponseWriter<'_, '_>,
    server: &LoopServer,
    mut waiting: SlotFuture,
) -> Result<(ProcessSlot, Option<KeptConnection>), AttemptFailure> {
    let limit = server.shared.options.timeouts.response;
    let slot = pin!(async {
        tokio::select! {
            biased;
            taken = waiting.slot() => Ok(taken),
            () = response.presence().left_waiting() => Err(AttemptFailure::Gone),
        }
    });
    match response.client.deadline.limit(limit, slot).await {
        Ok(taken) => taken,
        Err(Elapsed) => Err(ServerFailure::Occupied(limit).into()),
    }
}

async fn send_request(
    response: &mut ResponseWriter<'_, '_>,
    mut conversation: GatewayExchange<'_>,
    judge: Option<&Judge<'_>>,
) -> Result<AttemptOutcome, Gone> {
    let asked = conversation.ask(response).await;
    let outcome = match asked {
        Ok(head) => match conversation.judge(response, judge, head.status()) {
            Some(failure) => Ok(AttemptOutcome::Failed(failure)),
            None => conversation.pass_on(response, &head).await,
        },
        Err(broken) => broken.into_outcome(),
    };
    conversation.report(response.request);
    outcome
}
