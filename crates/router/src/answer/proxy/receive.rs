//! The wait of a request that is on its way: for its server, whatever that speaks, and for its client meanwhile. The
//! body goes on as the client sends it; a client that leaves, or fails to send the body, ends the request.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use super::time_limit::{AwaitedEvent, WaitLimit};
use super::upload::Upload;
use crate::clock::deadline::Elapsed;
use crate::exchange::carrier::{Carrier, ClientSignal};
use crate::exchange::downstream::Downstream;
use crate::exchange::response::ResponseWriter;
use crate::io::now;
use crate::request::body::BodyError;
use crate::request::client::Gone;
use crate::upstream::ServerFailure;

/// Why there is no answer.
pub(crate) enum AttemptFailure {
    /// The server's fault.
    Server(ServerFailure),
    /// The request's body could not be read.
    Body(BodyError),
    /// The answer is not waited for any more.
    Gone,
}

impl AttemptFailure {
    /// The failure of the server, where a failure of the client ends everything.
    pub(super) fn of_server(self) -> Result<ServerFailure, Gone> {
        match self {
            Self::Server(failure) => Ok(failure),
            Self::Body(_) | Self::Gone => Err(Gone),
        }
    }
}

impl From<ServerFailure> for AttemptFailure {
    fn from(failure: ServerFailure) -> Self {
        Self::Server(failure)
    }
}

impl From<Gone> for AttemptFailure {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

/// The server's half of a request that is on its way.
pub(super) trait ServerTransport {
    /// Something that the server has sent.
    type Received;

    /// Sends as much of the request as there is room for.
    fn send(&mut self, upload: &mut Upload) -> Result<(), ServerFailure>;

    /// Whether the server has to make room for the rest of what is at hand.
    fn is_blocked(&self, upload: &Upload) -> bool;

    /// Whether the client has to send more of the body before the server can get more.
    fn is_starving(&self, upload: &Upload) -> bool {
        upload.is_starving()
    }

    /// Waits for the server until something stirs at the client, if that costs less than to wait for both. Cancel safe.
    async fn receive_undisturbed(&mut self, _: &dyn Carrier) -> Option<Self::Received> {
        None
    }

    /// Waits until the server has sent something; none when there is room, where that is wanted. Cancel safe.
    async fn receive(&mut self, wants_room: bool) -> Option<Self::Received>;

    /// The server has been silent for too long.
    fn give_up(&mut self) {}
}

/// Waits for something from the server, and sends the rest of the request meanwhile.
pub(super) async fn receive<S: ServerTransport>(
    response: &mut ResponseWriter<'_, '_>,
    (server, upload): (&mut S, &mut Upload),
    limit: &mut WaitLimit<'_>,
) -> Result<S::Received, AttemptFailure> {
    loop {
        server.send(upload)?;
        if server.is_starving(upload)
            && let Some(taken) = take_body_now(response, upload)
        {
            taken.map_err(AttemptFailure::Body)?;
            continue;
        }
        let awaited = if server.is_blocked(upload) {
            AwaitedEvent::Room
        } else if server.is_starving(upload) {
            AwaitedEvent::Body
        } else {
            AwaitedEvent::Response
        };
        let left = limit.left(awaited, response.client.bounds().body_read_timeout, response.now());
        match next_event(response, (server, upload), awaited == AwaitedEvent::Room, left).await {
            Ok(event) => {
                if let Some(received) = event? {
                    return Ok(received);
                }
            }
            Err(Elapsed) => {
                let Some(failure) = limit.failure(awaited) else {
                    return Err(AttemptFailure::Body(BodyError::TimedOut));
                };
                server.give_up();
                return Err(failure.into());
            }
        }
    }
}

/// Takes what came along with the request's head before anything waits for more.
fn take_body_now(
    response: &mut ResponseWriter<'_, '_>,
    upload: &mut Upload,
) -> Option<Result<(), BodyError>> {
    let carrier = &mut *response.client.carrier;
    let taken = carrier.invite_body().and_then(|()| upload.take(carrier));
    (taken.is_err() || !upload.is_starving()).then_some(taken)
}

/// Waits for something from the server; none if the server takes more before, or the client sends more of the body.
async fn next_event<S: ServerTransport>(
    response: &mut ResponseWriter<'_, '_>,
    (server, upload): (&mut S, &mut Upload),
    wants_room: bool,
    limit: Duration,
) -> Result<Result<Option<S::Received>, AttemptFailure>, Elapsed> {
    if limit.is_zero() {
        return Err(Elapsed);
    }
    let is_starving = server.is_starving(upload);
    let sign = response.sign_of_departure();
    let Downstream { carrier, deadline, .. } = &mut *response.client;
    let event = async {
        if !wants_room
            && !is_starving
            && sign == ClientSignal::Finished
            && let Some(received) = server.receive_undisturbed(&**carrier).await
        {
            return Ok(Some(received));
        }
        let client = async {
            if is_starving {
                let taken = poll_fn(|context| upload.poll_take(&mut **carrier, context)).await;
                return taken.map(|()| None).map_err(AttemptFailure::Body);
            }
            carrier.gone(sign).await;
            Err(AttemptFailure::Gone)
        };
        tokio::select! {
            biased;
            received = server.receive(wants_room) => Ok(received),
            event = client => event,
        }
    };
    deadline.limit(limit, pin!(event)).await
}

/// Fails when the client has left, which does not show while there is always something from the server.
pub(super) async fn look_for_client(response: &ResponseWriter<'_, '_>, upload: &Upload) -> Result<(), Gone> {
    let sign = match response.sign_of_departure() {
        // Nothing lasts in one look.
        ClientSignal::Lasting => ClientSignal::Broken,
        sign => sign,
    };
    let is_gone = !upload.is_starving() && now(response.client.carrier.gone(sign)).await.is_some();
    if is_gone { Err(Gone) } else { Ok(()) }
}
