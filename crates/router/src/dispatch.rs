//! From a request to its answer: follows the configuration, looks after fallbacks and what stands in for errors, and
//! notes the end.

use corral_config::access_log::AccessLogs;
use corral_http::request::HttpVersion;
use corral_ipc::message::Refusal;

use crate::answer::authenticate::{self, AuthOutcome};
use crate::answer::{application, gateway, program, proxy, returned, share};
use crate::exchange::{Exchange, https_only, key_authorization};
use crate::observe::console;
use crate::observe::request_counts::{CountedRequest, ListenerCounts};
use crate::observe::slow_request;
use crate::observe::telemetry::{self, Trace};
use crate::request::body::BodyError;
use crate::request::client::Gone;
use crate::request::routing::{RouteTarget, log};

/// The methods that some of what answers here has a use for. Applications may know more.
const METHODS: &[u8] = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// Follows the configuration to what answers the request.
pub(crate) async fn answer(exchange: &mut Exchange<'_>) -> Result<(), Gone> {
    let request = &exchange.request;
    if request.request_settings().log_route {
        log::request(request.received.head.request_line(request.received.bytes));
    }
    if let Some(answer) = key_authorization::find(request, exchange.services) {
        return Box::pin(key_authorization::send(&mut exchange.response(), &answer)).await;
    }
    if let Some(rule) = https_only::broken_rule(request) {
        return Box::pin(https_only::redirect(&mut exchange.response(), rule)).await;
    }
    let target = exchange.routing().enter();
    answer_target(exchange, target).await?;
    answer_in_place(exchange).await
}

/// Answers with what is to stand in for an error, or for an answer that names it, if anything is.
async fn answer_in_place(exchange: &mut Exchange<'_>) -> Result<(), Gone> {
    while let Some(target) = exchange.routing().follow_stand_in() {
        answer_target(exchange, target).await?;
    }
    Ok(())
}

/// Answers with what was found, or with what its fallbacks lead to. Without a reply when another action is to
/// stand in for an error.
async fn answer_target<'c>(exchange: &mut Exchange<'c>, target: RouteTarget<'c>) -> Result<(), Gone> {
    let generation = &exchange.request.settings.generation;
    let mut target = target;
    loop {
        if let RouteTarget::Application { app, .. } = target {
            exchange.request.application = Some(app);
        }
        let mut response = exchange.response();
        let response = &mut response;
        // A client that is not authenticated yet may still be refused.
        let is_known = !matches!(target, RouteTarget::Authenticate(..));
        if is_known {
            response.take_bounds();
            let ignores_body = match target {
                // Whatever it falls back to may permit more.
                RouteTarget::Share(share) => share.fallback.is_some(),
                // A client that is known may be permitted more.
                RouteTarget::Close | RouteTarget::Nothing(401) => true,
                _ => false,
            };
            if !ignores_body && response.is_body_too_large() {
                return Box::pin(response.refuse_body(&BodyError::TooLarge)).await;
            }
        }
        if let RouteTarget::Application { app, .. } = target {
            let policy = generation.config.app_policies.get(app);
            response.enter_application(policy.map(|policy| policy.abandoned).unwrap_or_default())?;
        }
        if response.is_delayed() {
            Box::pin(response.wait_for_turn()).await?;
        }
        let is_let_in = !matches!(
            target,
            RouteTarget::Nothing(_) | RouteTarget::Close | RouteTarget::Preflight | RouteTarget::Server
        );
        if is_known
            && let Some(mirror) = response.take_mirror().filter(|_| is_let_in)
            && let Err(error) = Box::pin(proxy::mirror::begin(response, mirror)).await
        {
            return response.fail_body(&error).await;
        }
        let share = match target {
            RouteTarget::Application { app: key, target } => {
                let policy = generation.config.app_policies.get(key);
                let entry = policy.and_then(|policy| policy.entries.get(usize::from(target)));
                let Some(app) = generation.apps.get(key) else { return response.send_error(503).await };
                let begun = response.now();
                let answered = match app.gateway() {
                    // In a box, as proxies below: what waits with a file or a worker is not as large then.
                    Some(protocol) if app.runs_programs() => {
                        Box::pin(gateway::answer_by_program(response, app, entry, protocol)).await
                    }
                    None if app.runs_programs() => Box::pin(program::answer(response, app)).await,
                    _ => application::answer(response, app, (target, entry)).await,
                };
                app.count(response.outcome(), response.now().saturating_duration_since(begun));
                return answered;
            }
            RouteTarget::Return(answer) => return returned::answer(response, answer).await,
            RouteTarget::Close => return Err(response.close_without_reply()),
            RouteTarget::MissingSlash => return share::redirect_to_folder(response).await,
            RouteTarget::Upstream(upstream) => {
                let group = &generation.servers.upstreams[upstream];
                return gateway::answer(response, group, None).await;
            }
            RouteTarget::Control(destination) => {
                return Box::pin(proxy::control_service::answer(response, destination)).await;
            }
            RouteTarget::Proxy(proxy) => {
                return Box::pin(proxy::answer(response, &generation.servers.proxies[proxy])).await;
            }
            RouteTarget::DynamicProxy(proxy) => {
                let servers = &generation.servers.dynamic[proxy];
                return Box::pin(proxy::dynamic::answer(response, servers)).await;
            }
            RouteTarget::Gateway(action) => {
                let group = generation.servers.group(action.servers);
                return gateway::answer(response, group, Some(action)).await;
            }
            RouteTarget::Preflight => return response.send_empty(204).await,
            RouteTarget::Server => {
                response.reply.fields.push(b"Allow", METHODS);
                return response.send_empty(200).await;
            }
            RouteTarget::Authenticate(key, guarded) => {
                let outcome = Box::pin(authenticate::ask(response, key)).await?;
                if !matches!(outcome, AuthOutcome::Passed(_)) {
                    response.reply.refuse(Refusal::Authentication);
                }
                target = match outcome {
                    AuthOutcome::Passed(permission) => {
                        exchange.routing().follow_permitted(permission, guarded)
                    }
                    AuthOutcome::Refused(status) => RouteTarget::Nothing(status),
                    AuthOutcome::Answered => return Ok(()),
                };
                continue;
            }
            RouteTarget::Nothing(status) => return response.send_error(status).await,
            RouteTarget::Share(share) => share,
        };
        let status = match share::answer(response, share).await? {
            share::ShareOutcome::Sent => return Ok(()),
            share::ShareOutcome::Missed(status) => status,
        };
        let page = share.spa.as_ref().filter(|_| share::wants_page(response.request));
        let Some(action) = page.or(share.fallback.as_ref()) else { return response.send_error(status).await };
        if response.request.request_settings().log_route {
            log::fallback();
        }
        target = exchange.routing().follow_action(action);
    }
}

/// Reports the end of the exchange to counts, access logs, the console and telemetry.
pub(crate) fn note_end(exchange: &Exchange<'_>) {
    let generation = &exchange.request.settings.generation.shared;
    if let Some(counts) = exchange.request.settings.counts() {
        count(exchange, counts);
        note_slow(exchange, counts);
    }
    let logs = match exchange.route.access_logs() {
        Some(AccessLogs::Own(logs)) => logs,
        Some(AccessLogs::Document) | None => &generation.config.access_logs,
    };
    for log in logs {
        generation.access_logs[*log].write(exchange.services.lane, &mut exchange.variables());
    }
    if let Some(console) = console::get() {
        console.write(&exchange.variables());
    }
    let telemetry = generation.telemetry.as_ref().zip(exchange.request.trace.as_ref());
    if let Some((telemetry, trace)) = telemetry.filter(|(_, trace)| trace.is_sampled()) {
        note_exemplar(exchange, trace);
        let header = generation.request_settings.request_id.as_ref().map(|rule| rule.header.as_str());
        let (trace, received) = (Trace::clone(trace), exchange.request.received);
        let record = telemetry::record(trace, received, &exchange.variables(), header);
        telemetry.finish(record);
    }
}

/// Lets the request stand for others that take as long.
fn note_exemplar(exchange: &Exchange<'_>, trace: &Trace) {
    let Exchange { request, reply, services, .. } = exchange;
    let Some(counts) = request.settings.counts().filter(|_| reply.status != Some(101)) else { return };
    let took = request.elapsed();
    counts.of_loop(services.lane.index()).exemplars.note(trace.id(), took, trace.end(took));
}

/// Keeps the request if it is one of the slowest.
fn note_slow(exchange: &Exchange<'_>, counts: &ListenerCounts) {
    let Exchange { request, services, .. } = exchange;
    let took = request.elapsed();
    services.counters.slow.offer(took, services.deadlines.now(), || {
        let steps = &request.settings.generation.config.tables.steps;
        let step = request.step.and_then(|step| steps.get(step)).map(String::as_str);
        slow_request::describe(&exchange.variables(), (&counts.address, step), took)
    });
}

fn count(exchange: &Exchange<'_>, counts: &ListenerCounts) {
    let Exchange { request, client, reply, services, .. } = exchange;
    if let Some(refusal) = reply.refusal {
        services.counters.traffic.refuse(refusal);
    }
    let (lane, generation) = (services.lane.index(), &request.settings.generation.shared);
    if let Some(step) = request.step {
        generation.step_counts.note(step, lane, reply.status);
    }
    let protocol = match request.received.head.version() {
        HttpVersion::Http10 => 0,
        HttpVersion::Http11 => 1,
        HttpVersion::Http2 => 2,
    };
    counts.of_loop(lane).note(&CountedRequest {
        protocol,
        status: reply.status,
        took: request.elapsed(),
        sent: reply.n_body_bytes,
        received: client.carrier.n_body_bytes(),
    });
}
