//! Limits for clients, on a request's way: each place that has some asks them before anything else is done there.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use corral_config::table::Key;
use corral_config::template::Exception;
use corral_config::throttle::{Throttle, ThrottleKey};
use corral_ipc::message::Refusal;
use corral_syntax::client_network;

use super::Routing;
use crate::limits::{ClientLimit, LimitDecision, LimitKey};
use crate::request::routing::RouteTarget;
use crate::storage::buffers;
use crate::variables::script;

impl<'c> Routing<'_, 'c> {
    /// Asks the limits of a place; `Err` is a refusal.
    #[inline]
    pub(super) fn admit(&mut self, limits: &'c [Key<Throttle>]) -> Result<(), RouteTarget<'c>> {
        if limits.is_empty() { Ok(()) } else { self.ask(limits) }
    }

    #[cold]
    fn ask(&mut self, limits: &[Key<Throttle>]) -> Result<(), RouteTarget<'c>> {
        for &key in limits {
            let generation = &self.request.settings.generation;
            let limit = generation.shared.limits.get(key).zip(generation.config.tables.throttles.get(key));
            let Some((limit, throttle)) = limit else { continue };
            if throttle.exempt.matches(self.request.client.address) {
                continue;
            }
            let counted = self.counted(limit, &throttle.key).map_err(|exception| {
                script::report(&exception);
                RouteTarget::Nothing(500)
            })?;
            let Some(counted) = counted else { continue };
            let answer = limit.ask(counted, self.services.deadlines.now());
            if answer.is_refused {
                limit.warn(ShownKey { routing: self, key: &throttle.key }, self.services.deadlines.now());
            }
            if throttle.dry_run {
                self.route.held.extend(answer.held);
            } else if self.obey(answer) {
                self.reply.refuse(Refusal::Limit);
                return Err(RouteTarget::Nothing(throttle.status));
            }
        }
        Ok(())
    }

    /// Notes what a limit has said. True for a refusal.
    fn obey(&mut self, answer: LimitDecision) -> bool {
        let LimitDecision { is_refused, delay, quota, held, turn } = answer;
        let told = &mut self.reply.quota;
        if let Some(quota) = quota
            && told.as_ref().is_none_or(|told| quota.is_tighter(told))
        {
            *told = Some(Box::new(quota));
        }
        // A refusal does not wait for what another limit has said before.
        self.route.delay = if is_refused { Duration::ZERO } else { self.route.delay.max(delay) };
        self.route.held.extend(held);
        self.route.turns.extend(turn);
        is_refused
    }

    /// The key that the request is counted by; none if it is not counted.
    fn counted(&self, limit: &Arc<ClientLimit>, key: &ThrottleKey) -> Result<Option<LimitKey>, Exception> {
        let ThrottleKey::Text(template) = key else {
            return Ok(Some(
                limit.count(self.request.client.address.map(|address| client_network(address.ip()))),
            ));
        };
        let mut text = buffers::take();
        let rendered = template.render(&mut self.variables(), &mut text);
        let counted = (!text.is_empty()).then(|| limit.count(&text));
        buffers::give(text);
        rendered.map(|()| counted)
    }
}

/// The key of a request, for the log: any client may have written it.
struct ShownKey<'e, 'r, 'c> {
    routing: &'e Routing<'r, 'c>,
    key: &'e ThrottleKey,
}

impl fmt::Display for ShownKey<'_, '_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.key, self.routing.request.client.address) {
            (ThrottleKey::Client, Some(address)) => write!(f, "{}", client_network(address.ip())),
            (ThrottleKey::Client, None) => f.write_str("unix:"),
            (ThrottleKey::Text(template), _) => {
                let mut text = Vec::new();
                // It was rendered before.
                let _ = template.render(&mut self.routing.variables(), &mut text);
                text.truncate(LONGEST_SHOWN);
                write!(f, "{}", text.escape_ascii())
            }
        }
    }
}

/// Bytes of a key in the log.
const LONGEST_SHOWN: usize = 100;
