//! From a listener's `pass` to what answers the request: steps are chosen, paths rewritten, and what
//! each action asks for is noted in the exchange.
//!
//! An action asks in one order: `cors`, which answers preflight requests because these carry no credentials;
//! `maintenance`; limits; authentication; then what changes the request. Authentication may wait, so it ends this way
//! as a target of its own: `dispatch` asks the methods and follows the action afterwards. The way itself never waits.

mod errors;
mod internal_redirect;
mod request_fields;
mod rewrite;

use corral_config::route::{Action, ActionKind, Destination, Route};

use crate::exchange::Exchange;
use crate::request::routing::{AfterAuthentication, RouteTarget, log};
use crate::storage::buffers;
use crate::variables::encoded::PassValues;
use crate::variables::script;

/// Actions that one request may go through (contract 9).
const MAX_ACTIONS: u16 = 256;

impl<'c> Exchange<'c> {
    /// Follows a `pass` through the routes.
    pub(crate) fn follow(&mut self, pass: &'c Destination) -> RouteTarget<'c> {
        let (Ok(target) | Err(target)) = self.try_follow(pass);
        let target = self.or_preflight(target);
        let RouteTarget::Application { app, .. } = target else { return target };
        let limits = self.settings.generation.config.application_limits.get(app);
        let limits = limits.map_or(&[][..], Vec::as_slice);
        self.admit(limits).map_or_else(|refused| refused, |()| target)
    }

    /// Follows the listener's `pass`, unless the listener's limits refuse the request.
    pub(crate) fn enter(&mut self) -> RouteTarget<'c> {
        let listener = self.settings.listener();
        if let Err(target) = self.admit(&listener.limits) {
            return target;
        }
        if self.request.head.is_for_server() {
            return RouteTarget::Server;
        }
        match listener.authentication {
            None => self.follow(&listener.pass),
            Some(place) => RouteTarget::Authenticate(place, AfterAuthentication::Pass(&listener.pass)),
        }
    }

    /// Goes on where `authenticate` has let the request pass.
    pub(crate) fn follow_authenticated(&mut self, guarded: AfterAuthentication<'c>) -> RouteTarget<'c> {
        let action = match guarded {
            AfterAuthentication::Action(action) => action,
            AfterAuthentication::Pass(pass) => return self.follow(pass),
        };
        match self.carry_on(action) {
            Ok(pass) => self.follow(pass),
            Err(target) => target,
        }
    }

    /// Follows an action that was reached otherwise, such as a `fallback`.
    pub(crate) fn follow_action(&mut self, action: &'c Action) -> RouteTarget<'c> {
        match self.take(action) {
            Ok(pass) => self.follow(pass),
            Err(target) => self.or_preflight(target),
        }
    }

    /// `Err` is a target like any other: it ends the way early.
    fn try_follow(&mut self, pass: &'c Destination) -> Result<RouteTarget<'c>, RouteTarget<'c>> {
        let mut pass = pass;
        loop {
            let route = self.resolve(pass)?;
            let action = self.choose(route)?;
            pass = self.take(action)?;
        }
    }

    /// The route that a `pass` leads to, unless it leads somewhere else.
    fn resolve(&mut self, pass: &'c Destination) -> Result<usize, RouteTarget<'c>> {
        let Destination::Template(template) = pass else { return enter(pass) };
        let mut text = buffers::take();
        let rendered = template.render(&mut PassValues(self.variables()), &mut text);
        let found = rendered.map(|()| self.settings.generation.config.resolve(&text));
        buffers::give(text);
        match found {
            Ok(Some(destination)) => enter(&destination),
            Ok(None) => Err(RouteTarget::Nothing(404)),
            Err(exception) => {
                script::report(&exception);
                Err(RouteTarget::Nothing(500))
            }
        }
    }

    /// The action of the first step whose conditions hold.
    fn choose(&mut self, route: usize) -> Result<&'c Action, RouteTarget<'c>> {
        let settings = self.settings;
        let route: &'c Route =
            settings.generation.config.routes.get(route).ok_or(RouteTarget::Nothing(404))?;
        let found = if self.request_settings().log_route {
            log::choose(route, &mut self.variables())
        } else {
            route.choose(&mut self.variables())
        };
        match found {
            Ok(Some(step)) => Ok(&step.action),
            Ok(None) => Err(RouteTarget::Nothing(404)),
            Err(undecided) => {
                script::report(&undecided);
                Err(RouteTarget::Nothing(500))
            }
        }
    }

    /// Notes an action and does what every kind of them does first. Its `pass`, if that is its kind.
    fn take(&mut self, action: &'c Action) -> Result<&'c Destination, RouteTarget<'c>> {
        if self.way.n_actions == MAX_ACTIONS {
            tracing::error!("the request went through more than {MAX_ACTIONS} actions");
            return Err(RouteTarget::Nothing(500));
        }
        self.way.enter(action);
        let options = &action.options;
        // A preflight request comes before all that refuses: it has no credentials, and says nothing of its client.
        if self.is_preflight() {
            return self.carry_on(action);
        }
        self.admit_in_maintenance(options.maintenance.as_deref())?;
        self.admit(&options.limits)?;
        if options.mirror.is_some() && !self.answers_in_place() {
            self.way.mirror = options.mirror;
        }
        match options.authentication {
            Some(place) => Err(RouteTarget::Authenticate(place, AfterAuthentication::Action(action))),
            None => self.carry_on(action),
        }
    }

    /// Does the rest of an action, whose client may go on.
    fn carry_on(&mut self, action: &'c Action) -> Result<&'c Destination, RouteTarget<'c>> {
        self.change_request(&action.options.request_headers).map_err(|exception| {
            script::report(&exception);
            RouteTarget::Nothing(500)
        })?;
        if let Some(rewrite) = &action.options.rewrite {
            self.rewrite(rewrite).map_err(|error| RouteTarget::Nothing(error.report()))?;
        }
        match &action.kind {
            ActionKind::Pass(pass) => Ok(pass),
            ActionKind::Return(answer) => Err(RouteTarget::Return(answer)),
            ActionKind::Share(share) => Err(RouteTarget::Share(share)),
            ActionKind::Proxy(proxy) => Err(RouteTarget::Proxy(*proxy)),
            ActionKind::Gateway(gateway) => Err(RouteTarget::Gateway(gateway)),
        }
    }
}

/// The route that this destination is, or what answers the request there.
fn enter<'c>(destination: &Destination) -> Result<usize, RouteTarget<'c>> {
    Err(match *destination {
        Destination::Route(route) => return Ok(route),
        Destination::Application { app, target } => RouteTarget::Application { app, target },
        Destination::Upstream(upstream) => RouteTarget::Upstream(upstream),
        // What was rendered is never rendered again.
        Destination::Template(_) => RouteTarget::Nothing(404),
    })
}
