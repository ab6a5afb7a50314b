//! Requests that other HTTP servers answer: `proxy` and `upstreams` (contract 13).
//!
//! A request is an `attempt` at one server after the other: one `http1_request` on a `connection`, whose response is
//! `relay`ed, or becomes a `tunnel`, or `checked_websocket` where a program of Unit's types has a WebSocket. With a
//! server that speaks HTTP/2 it is a stream (`http2`). A server of FastCGI or its kin gets a `GatewayRequest`
//! (`gateway`). All of them wait in `receive`, for the server and the client at once, and `retry` decides which
//! requests are tried again.

mod admission;
mod attempt;
mod checked_websocket;
pub(crate) mod control_service;
mod download;
pub(crate) mod dynamic;
mod forwarded;
mod gateway;
mod http1_request;
mod http2;
mod judgement;
pub(crate) mod mirror;
mod receive;
mod relay;
mod request;
mod response_head;
mod retry;
mod server_headers;
mod shown;
mod socket;
mod sticky;
pub(crate) mod subrequest;
mod time_limit;
mod tunnel;
mod upload;

use std::time::Instant;

use corral_config::template::Exception;
use corral_config::upstream::{Balance, Retries};
use corral_ipc::message::Refusal;

pub(crate) use self::attempt::{Attempt, AttemptOutcome};
pub(crate) use self::gateway::{GatewayRequest, ProgramRequest, await_return};
use self::judgement::Judge;
pub(crate) use self::retry::{FailedAttempt, RetryState, RetryTarget};
use self::shown::shown;
pub(crate) use self::tunnel::join;
pub(crate) use self::upload::{Upload, UploadDestination};
use crate::clock::Millis;
use crate::error_chain::Chain;
use crate::exchange::response::ResponseWriter;
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::{LoopGroup, LoopServer, ServerFailure, ServerWish, TriedServers};

/// Answers a request by a server of a group.
pub(crate) async fn answer(response: &mut ResponseWriter<'_, '_>, group: &LoopGroup) -> Result<(), Gone> {
    let destination =
        if group.shared.speaks_http2() { UploadDestination::Http2 } else { UploadDestination::Http1 };
    let upload = match Upload::begin(response, destination).await {
        Ok(upload) => upload,
        Err(error) => return response.fail_body(&error).await,
    };
    give(response, group, upload, None).await
}

/// Gives a request whose body is at hand, or on its way, to a server of a group, as a `GatewayRequest` or in HTTP.
pub(crate) async fn give(
    response: &mut ResponseWriter<'_, '_>,
    group: &LoopGroup,
    mut upload: Upload,
    gateway_request: Option<&GatewayRequest>,
) -> Result<(), Gone> {
    let key = match balance_key(response, group) {
        Ok(key) => key,
        Err(exception) => return response.fail_script(&exception).await,
    };
    let begun = response.now();
    let Retries { most, timeout } = group.shared.upstream.retries;
    let target = RetryTarget::server(group.servers.len(), most, timeout);
    let further = group.shared.upstream.retry_on.failures;
    let retries = RetryState::new(target, response.request.received.is_idempotent()).also_after(further);
    if further.non_idempotent {
        upload.keep_for_others();
    }
    let preferred = sticky::named(response, group);
    let tried = TriedServers::new();
    let mut attempts = Attempts { group, key, preferred, upload, gateway_request, tried, retries, begun };
    let answered = attempts.run(response).await;
    buffers::give(attempts.key);
    answered
}

/// The text by which a server is chosen; empty where it is chosen otherwise.
fn balance_key(response: &ResponseWriter<'_, '_>, group: &LoopGroup) -> Result<Vec<u8>, Exception> {
    let mut key = Vec::new();
    if let Balance::Hash(template) = &group.shared.upstream.balance {
        key = buffers::take();
        template.render(&mut response.variables(), &mut key)?;
    }
    Ok(key)
}

/// Notes how a server has done, for variables and traces.
fn note_outcome(response: &mut ResponseWriter<'_, '_>, outcome: Option<&AttemptOutcome>) {
    if let Some(AttemptOutcome::Failed(ServerFailure::Status(status))) = outcome {
        response.note_upstream_head(*status);
    }
    if let Some(AttemptOutcome::Failed(failure) | AttemptOutcome::Cut(failure)) = outcome {
        response.note_upstream_failure(&Chain(failure));
    }
    response.note_upstream_end();
}

/// A request that is given to one server after the other until one answers.
struct Attempts<'g> {
    group: &'g LoopGroup,
    key: Vec<u8>,
    /// The server that the client wants to stay with.
    preferred: Option<usize>,
    upload: Upload,
    /// The request as servers get it in the place of a head of HTTP.
    gateway_request: Option<&'g GatewayRequest>,
    tried: TriedServers,
    retries: RetryState,
    begun: Instant,
}

impl Attempts<'_> {
    async fn run(&mut self, response: &mut ResponseWriter<'_, '_>) -> Result<(), Gone> {
        loop {
            let Self { preferred, ref tried, ref key, .. } = *self;
            let asked = response.now();
            let wish = ServerWish { tried, key, preferred, now: asked };
            let admitted = admission::admit(response, self.group, wish).await;
            response.note_admission(&self.group.shared.upstream.name, asked);
            let (chosen, place) = match admitted? {
                Ok(admitted) => admitted,
                Err(reason) => return reason.answer(response, self.group).await,
            };
            let server = self.group.begin_attempt(chosen, &self.tried);
            let active = server.figures().begin_request();
            // What is described once for all servers names one part for all of them.
            if self.gateway_request.is_none() {
                response.begin_part();
            }
            response.note_upstream(&server.shared.origin.host);
            self.tried.push(chosen);
            server_headers::mark(response, (self.group, chosen), self.preferred);
            let sent = response.now();
            let Self { group, ref retries, ref tried, begun, ref mut upload, .. } = *self;
            let judge = Judge { group, retries, tried, begun, sent };
            let outcome = match self.gateway_request {
                None => Attempt::new(server, upload).judged_by(&judge).run(response).await,
                Some(gateway_request) => {
                    gateway::run(response, server, (upload, Some(&judge)), gateway_request).await
                }
            };
            note_outcome(response, outcome.as_ref().ok());
            response.note_upstream_time(sent);
            response.reply.from_server = None;
            drop((active, place));
            let failure = match outcome? {
                AttemptOutcome::Answered => return Ok(()),
                AttemptOutcome::Body(error) => return response.fail_body(&error).await,
                AttemptOutcome::Failed(failure) => failure,
                AttemptOutcome::Cut(failure) => {
                    self.note_failure(response, server, &failure);
                    return Err(Gone);
                }
            };
            self.note_failure(response, server, &failure);
            let elapsed = response.now().saturating_duration_since(self.begun);
            let attempt = FailedAttempt { elapsed, ..FailedAttempt::new(&failure) };
            if !self.retries.retry(attempt, &mut self.upload) {
                if matches!(failure, ServerFailure::Occupied(_)) {
                    response.reply.refuse(Refusal::QueueTimeout);
                }
                return response.send_error(failure.status()).await;
            }
        }
    }

    fn note_failure(&self, response: &ResponseWriter<'_, '_>, server: &LoopServer, failure: &ServerFailure) {
        let shared = &server.shared;
        let now = Millis::of(response.now());
        let title = || self.group.shared.title(Some(shared));
        // A status like 404 is an answer, of which nothing need be said.
        let is_answer = matches!(failure, ServerFailure::Status(_)) && !failure.is_theirs();
        if is_answer {
            return;
        }
        if let Some(suppressed) = shared.throttle.admit(now) {
            let failure = Chain(failure);
            tracing::error!("{}: {failure}, request \"{}\"{suppressed}", title(), shown(response.request));
        }
        if !failure.is_theirs() {
            return;
        }
        server.figures().failures.add(1);
        let has_changed = shared.health.failed(&shared.passive, now);
        if has_changed && self.group.servers.len() > 1 {
            tracing::warn!("{}: avoided for {:?}", title(), shared.passive.fail_timeout);
        }
    }
}
