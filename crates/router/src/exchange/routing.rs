//! From a listener's `pass` to what answers the request: steps are chosen, paths rewritten, and what
//! each action asks for is noted in the exchange.
//!
//! An action asks in one order: `cors`, which answers preflight requests because these carry no credentials;
//! `maintenance`; limits; authentication; then what changes the request. Authentication may wait, so it ends this way
//! as a target of its own: `dispatch` asks the methods and follows the action afterwards. The way itself never waits.

mod limits;
mod request_fields;
mod rewrite;
mod try_files;

use corral_config::route::{
    Action, ActionKind, ActionOptions, Captures, Destination, Maintenance, Match, Route,
};
use corral_config::table::Key;
use corral_ipc::message::Refusal;

use super::request::RoutedRequest;
use super::{cors, maintenance};
use crate::reply::Reply;
use crate::request::routing::route_progress::{RouteProgress, StandIn};
use crate::request::routing::{AfterAuthentication, PermittedRequest, RouteTarget, log};
use crate::services::LoopServices;
use crate::storage::buffers;
use crate::variables::encoded::PassValues;
use crate::variables::{ConnectionEnds, RequestVariables, script};

/// Actions that one request may go through (contract 9).
const MAX_ACTIONS: u16 = 256;

/// A request on its way to what answers it.
pub(crate) struct Routing<'r, 'c> {
    pub(super) request: &'r mut RoutedRequest<'c>,
    /// The connection, for variables.
    pub(super) ends: &'r dyn ConnectionEnds,
    pub(super) route: &'r mut RouteProgress<'c>,
    /// Limits and maintenance tell the client something in every reply.
    pub(super) reply: &'r mut Reply,
    pub(super) services: &'c LoopServices,
}

impl<'c> Routing<'_, 'c> {
    fn variables(&self) -> RequestVariables<'_> {
        self.request.variables(self.ends, self.reply)
    }

    /// Follows a `pass` through the routes.
    fn follow(&mut self, pass: &'c Destination) -> RouteTarget<'c> {
        let (Ok(target) | Err(target)) = self.try_follow(pass);
        let target = self.or_preflight(target);
        let RouteTarget::Application { app, .. } = target else { return target };
        let policy = self.request.settings.generation.config.app_policies.get(app);
        let limits = policy.map_or(&[][..], |policy| &policy.limits);
        self.admit(limits).map_or_else(|refused| refused, |()| target)
    }

    /// Follows the listener's `pass`, unless the listener is closed or its limits refuse the request.
    pub(crate) fn enter(&mut self) -> RouteTarget<'c> {
        let listener = self.request.settings.listener();
        if let Some(defaults) = &listener.defaults {
            self.route.enter(defaults);
        }
        let is_preflight = cors::is_preflight(self.request, self.route);
        let closing = listener.defaults.as_deref().filter(|_| !is_preflight);
        if let Some(target) = closing.and_then(|defaults| self.refuse_if_closed(&defaults.options)) {
            return target;
        }
        let authentication = listener.authentication.filter(|_| !is_preflight);
        if let Err(target) = self.admit(&listener.limits) {
            return target;
        }
        if self.request.received.head.is_for_server() {
            return RouteTarget::Server;
        }
        match authentication {
            None => self.begin(),
            Some(key) => RouteTarget::Authenticate(key, AfterAuthentication::Listener),
        }
    }

    /// Follows the listener's `pass`.
    fn begin(&mut self) -> RouteTarget<'c> {
        let listener = self.request.settings.listener();
        match &listener.defaults {
            None => self.follow(&listener.pass),
            Some(defaults) => self.follow_action(defaults),
        }
    }

    /// The target of a request, unless it only asks whether there may be one.
    fn or_preflight(&self, target: RouteTarget<'c>) -> RouteTarget<'c> {
        if cors::is_preflight(self.request, self.route) { RouteTarget::Preflight } else { target }
    }

    /// Goes on where `authenticate` has let the request pass.
    pub(crate) fn follow_permitted(
        &mut self,
        permission: PermittedRequest<'c>,
        guarded: AfterAuthentication<'c>,
    ) -> RouteTarget<'c> {
        let PermittedRequest { user, changes } = permission;
        self.request.user = Some(Box::new(user));
        changes.into_iter().for_each(|change| self.request.change_field(change));
        let action = match guarded {
            AfterAuthentication::Action(action) => action,
            AfterAuthentication::Listener => return self.begin(),
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

    /// Follows what is to answer now in the place of an error or of another answer.
    pub(crate) fn follow_stand_in(&mut self) -> Option<RouteTarget<'c>> {
        Some(match self.route.stand_in.take()? {
            StandIn::Action(action) => self.follow_action(action),
            StandIn::Redirected { action, path, query } => {
                self.request.set_path(path);
                if let Some(query) = query {
                    self.request.set_query(query);
                }
                self.follow_action(action)
            }
            StandIn::Nothing(status) => RouteTarget::Nothing(status),
        })
    }

    /// `Err` is a target like any other: it ends the way early.
    fn try_follow(&mut self, pass: &'c Destination) -> Result<RouteTarget<'c>, RouteTarget<'c>> {
        let mut pass = pass;
        loop {
            let route = self.resolve(pass)?;
            self.enter_defaults()?;
            let action = self.choose(route)?;
            pass = self.take(action)?;
        }
    }

    /// Goes into what all routes are inside of, once.
    #[inline]
    fn enter_defaults(&mut self) -> Result<(), RouteTarget<'c>> {
        let settings = self.request.settings;
        match &settings.generation.config.route_defaults {
            Some(defaults) if self.route.go_inside(defaults) => self.take(defaults).map(drop),
            _ => Ok(()),
        }
    }

    /// The route that a `pass` leads to, unless it leads somewhere else.
    fn resolve(&mut self, pass: &'c Destination) -> Result<Key<Route>, RouteTarget<'c>> {
        let Destination::Template(template) = pass else { return enter(pass) };
        let mut text = buffers::take();
        let rendered = template.render(&mut PassValues(self.variables()), &mut text);
        let found = rendered.map(|()| self.request.settings.generation.config.resolve(&text));
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
    fn choose(&mut self, route: Key<Route>) -> Result<&'c Action, RouteTarget<'c>> {
        let settings = self.request.settings;
        self.request.route = Some(route);
        let route: &'c Route =
            settings.generation.config.routes.get(route).ok_or(RouteTarget::Nothing(404))?;
        let found = if self.request.request_settings().log_route {
            log::choose(route, &mut self.variables())
        } else {
            route.choose(&mut self.variables())
        };
        match found {
            Ok(Some(step)) => {
                self.request.step = Some(step.key);
                if let Some(captures) = &step.captures {
                    self.capture(captures, &step.conditions)?;
                }
                Ok(&step.action)
            }
            Ok(None) => Err(RouteTarget::Nothing(404)),
            Err(undecided) => {
                script::report(&undecided);
                Err(RouteTarget::Nothing(500))
            }
        }
    }

    /// Keeps what the groups of a step have matched, for the templates of its action.
    fn capture(&mut self, captures: &Captures, conditions: &Match) -> Result<(), RouteTarget<'c>> {
        let captured = captures.of(conditions, &self.variables()).map_err(|given_up| {
            script::report(&given_up);
            RouteTarget::Nothing(500)
        })?;
        self.request.keep_captured(captured);
        Ok(())
    }

    /// Notes an action and does what every kind of them does first. Its `pass`, if that is its kind.
    fn take(&mut self, action: &'c Action) -> Result<&'c Destination, RouteTarget<'c>> {
        if self.route.n_actions == MAX_ACTIONS {
            tracing::error!("the request went through more than {MAX_ACTIONS} actions");
            return Err(RouteTarget::Nothing(500));
        }
        self.route.enter(action);
        let options = &action.options;
        // A preflight request comes before all that refuses: it has no credentials, and says nothing of its client.
        if cors::is_preflight(self.request, self.route) {
            return self.carry_on(action);
        }
        if let Some(target) = self.refuse_if_closed(options) {
            return Err(target);
        }
        self.admit(&options.limits)?;
        if options.mirror.is_some() && !self.route.answers_in_place() {
            self.route.mirror = options.mirror;
        }
        match options.authentication {
            Some(key) => Err(RouteTarget::Authenticate(key, AfterAuthentication::Action(action))),
            None => self.carry_on(action),
        }
    }

    /// The answer of an action whose options close it.
    fn refuse_if_closed(&mut self, options: &'c ActionOptions) -> Option<RouteTarget<'c>> {
        let maintenance = options.maintenance.as_deref()?;
        maintenance::is_closed(maintenance, self.request.client).then(|| self.close(maintenance))
    }

    /// The answer of an action that is closed.
    fn close(&mut self, maintenance: &'c Maintenance) -> RouteTarget<'c> {
        self.reply.refuse(Refusal::Maintenance);
        self.reply.retry_after = maintenance.retry_after;
        if let Some(pages) = &maintenance.pages {
            self.route.closed = Some(if self.request.wants_problem() { &pages.json } else { &pages.html });
        }
        RouteTarget::Nothing(maintenance.status)
    }

    /// Does the rest of an action, whose client may go on.
    fn carry_on(&mut self, action: &'c Action) -> Result<&'c Destination, RouteTarget<'c>> {
        self.change_request(&action.options.request_headers).map_err(|exception| {
            script::report(&exception);
            RouteTarget::Nothing(500)
        })?;
        if action.options.responses.as_ref().is_some_and(|responses| responses.substitute.is_some()) {
            self.ask_for_whole_text();
        }
        if let Some(changes) = &action.options.path {
            self.change_path(changes, action)?;
        }
        match &action.kind {
            ActionKind::Pass(pass) => Ok(pass),
            ActionKind::Return(answer) => Err(RouteTarget::Return(answer)),
            ActionKind::Close => Err(RouteTarget::Close),
            ActionKind::Share(share) => Err(RouteTarget::Share(share)),
            ActionKind::Proxy(proxy) => Err(RouteTarget::Proxy(*proxy)),
            ActionKind::DynamicProxy(proxy) => Err(RouteTarget::DynamicProxy(*proxy)),
            ActionKind::Gateway(gateway) => Err(RouteTarget::Gateway(gateway)),
        }
    }
}

/// The route that this destination is, or what answers the request there.
fn enter<'c>(destination: &Destination) -> Result<Key<Route>, RouteTarget<'c>> {
    Err(match *destination {
        Destination::Route(route) => return Ok(route),
        Destination::Application { app, target } => RouteTarget::Application { app, target },
        Destination::Upstream(upstream) => RouteTarget::Upstream(upstream),
        Destination::Control(destination) => RouteTarget::Control(destination),
        // What was rendered is never rendered again.
        Destination::Template(_) => RouteTarget::Nothing(404),
    })
}
