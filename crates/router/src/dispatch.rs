//! From a request to its answer: follows the configuration, looks after fallbacks and what stands in for errors, and
//! notes the end.

use corral_config::gateway::Servers;

use crate::answer::authenticate::{self, AuthOutcome};
use crate::answer::{application, gateway, program, proxy, returned, share};
use crate::exchange::Exchange;
use crate::observe::console;
use crate::observe::telemetry::{self, Trace};
use crate::request::body::BodyError;
use crate::request::client::Gone;
use crate::request::routing::route_progress::StandIn;
use crate::request::routing::{RouteTarget, log};

/// The methods that some of what answers here has a use for. Applications may know more.
const METHODS: &[u8] = b"GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// Follows the configuration to what answers the request.
pub(crate) async fn answer(exchange: &mut Exchange<'_>) -> Result<(), Gone> {
    if exchange.request_settings().log_route {
        log::request(exchange.request.head.request_line(exchange.request.bytes));
    }
    if let Some(answer) = exchange.key_authorization() {
        return Box::pin(exchange.send_key_authorization(&answer)).await;
    }
    if let Some(rule) = exchange.breaks_https_only() {
        return Box::pin(exchange.redirect_to_https(rule)).await;
    }
    let target = exchange.enter();
    answer_target(exchange, target).await?;
    answer_in_place(exchange).await
}

/// As `answer` for a request whose body is refused: only the actions for errors on its way matter.
pub(crate) async fn answer_refused(exchange: &mut Exchange<'_>, error: &BodyError) -> Result<(), Gone> {
    if let Some(rule) = exchange.breaks_https_only() {
        // The body is not read.
        (exchange.reply.close, exchange.reply.linger) = (true, true);
        return Box::pin(exchange.redirect_to_https(rule)).await;
    }
    exchange.enter();
    exchange.refuse_body(error).await?;
    answer_in_place(exchange).await
}

/// Answers with what is to stand in for an error, or for an answer that names it, if anything is.
async fn answer_in_place(exchange: &mut Exchange<'_>) -> Result<(), Gone> {
    while let Some(stand_in) = exchange.take_stand_in() {
        let target = match stand_in {
            StandIn::Action(action) => exchange.follow_action(action),
            StandIn::Nothing(status) => RouteTarget::Nothing(status),
        };
        answer_target(exchange, target).await?;
    }
    Ok(())
}

/// Answers with what was found, or with what its fallbacks lead to. Without a reply when another action is to
/// stand in for an error.
async fn answer_target<'c>(exchange: &mut Exchange<'c>, target: RouteTarget<'c>) -> Result<(), Gone> {
    let generation = &exchange.settings.generation;
    let mut target = target;
    loop {
        if let RouteTarget::Application { app, .. } = target {
            let abandoned = generation.config.application_abandoned.get(app);
            exchange.way.abandoned = abandoned.copied().unwrap_or_default();
            exchange.drop_if_abandoned()?;
        }
        if exchange.is_delayed() {
            Box::pin(exchange.wait_for_turn()).await?;
        }
        let is_let_in =
            !matches!(target, RouteTarget::Nothing(_) | RouteTarget::Preflight | RouteTarget::Server);
        // A client that is not authenticated yet may still be refused.
        let is_known = !matches!(target, RouteTarget::Authenticate(..));
        if let Some(mirror) = exchange.way.mirror.take_if(|_| is_known).filter(|_| is_let_in)
            && let Err(error) = Box::pin(proxy::mirror::begin(exchange, mirror)).await
        {
            return exchange.fail_body(&error).await;
        }
        let share = match target {
            RouteTarget::Application { app: place, target } => {
                return match generation.apps.get(place) {
                    None => exchange.send_error(503).await,
                    // In a box, as proxies below: what waits with a file or a worker is not as large then.
                    Some(app) if app.runs_programs() => match app.gateway() {
                        None => Box::pin(program::answer(exchange, app)).await,
                        Some(protocol) => {
                            let entries = generation.config.application_entries.get(place);
                            let entry = entries.and_then(|entries| entries.get(usize::from(target)));
                            Box::pin(gateway::answer_by_program(exchange, app, entry, protocol)).await
                        }
                    },
                    Some(app) => {
                        let entries = generation.config.application_entries.get(place);
                        let entry = entries.and_then(|entries| entries.first());
                        application::answer(exchange, app, (target, entry)).await
                    }
                };
            }
            RouteTarget::Return(answer) => return returned::answer(exchange, answer).await,
            RouteTarget::Upstream(upstream) => {
                let group = &generation.servers.upstreams[upstream];
                return gateway::answer(exchange, group, None).await;
            }
            RouteTarget::Proxy(proxy) => {
                return Box::pin(proxy::answer(exchange, &generation.servers.proxies[proxy])).await;
            }
            RouteTarget::Gateway(action) => {
                let group = match action.servers {
                    Servers::Upstream(upstream) => &generation.servers.upstreams[upstream],
                    Servers::Proxy(proxy) => &generation.servers.proxies[proxy],
                };
                return gateway::answer(exchange, group, Some(action)).await;
            }
            RouteTarget::Preflight => return exchange.send_empty(204).await,
            RouteTarget::Server => {
                exchange.reply.fields.push(b"Allow", METHODS);
                return exchange.send_empty(200).await;
            }
            RouteTarget::Authenticate(place, guarded) => {
                target = match Box::pin(authenticate::ask(exchange, place)).await? {
                    AuthOutcome::Passed => exchange.follow_authenticated(guarded),
                    AuthOutcome::Refused(status) => RouteTarget::Nothing(status),
                    AuthOutcome::Answered => return Ok(()),
                };
                continue;
            }
            RouteTarget::Nothing(status) => return exchange.send_error(status).await,
            RouteTarget::Share(share) => share,
        };
        let status = match share::answer(exchange, share).await? {
            share::ShareOutcome::Sent => return Ok(()),
            share::ShareOutcome::Missed(status) => status,
        };
        let Some(action) = &share.fallback else { return exchange.send_error(status).await };
        if exchange.request_settings().log_route {
            log::fallback();
        }
        target = exchange.follow_action(action);
    }
}

/// Reports the end of the exchange to access logs, the console and telemetry.
pub(crate) fn note_end(exchange: &Exchange<'_>) {
    let generation = &exchange.settings.generation.shared;
    for log in &generation.access_logs {
        log.write(exchange.services.lane, &mut exchange.variables());
    }
    if let Some(console) = console::get() {
        console.write(&exchange.variables());
    }
    let telemetry = generation.telemetry.as_ref().zip(exchange.trace.as_ref());
    if let Some((telemetry, trace)) = telemetry.filter(|(_, trace)| trace.is_sampled()) {
        let record = telemetry::record(Trace::clone(trace), exchange.request, &exchange.variables());
        telemetry.finish(record);
    }
}
