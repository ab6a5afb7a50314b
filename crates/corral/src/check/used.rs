//! Which routes, applications and upstreams requests can get to.

use std::collections::HashSet;

use corral_config::Config;
use corral_config::gateway::Servers;
use corral_config::plan::AppSpec;
use corral_config::route::{Action, ActionKind, Destination, Route};
use corral_config::upstream::Upstream;

/// By their places in the configuration.
#[derive(Default)]
pub(super) struct Used {
    routes: HashSet<usize>,
    applications: HashSet<usize>,
    upstreams: HashSet<usize>,
}

impl Used {
    /// Nothing if a destination depends on the request: it may be any.
    pub(super) fn of(config: &Config) -> Option<Self> {
        let mut used = Self::default();
        for listener in &config.listeners {
            used.destination(&listener.pass)?;
        }
        for step in config.routes.iter().flat_map(Route::steps) {
            used.action(&step.action)?;
        }
        Some(used)
    }

    fn destination(&mut self, destination: &Destination) -> Option<()> {
        match destination {
            Destination::Application { app, .. } => self.applications.insert(*app),
            Destination::Upstream(idx) => self.upstreams.insert(*idx),
            Destination::Route(idx) => self.routes.insert(*idx),
            Destination::Template(_) => return None,
        };
        Some(())
    }

    fn action(&mut self, action: &Action) -> Option<()> {
        match &action.kind {
            ActionKind::Pass(destination) => self.destination(destination)?,
            ActionKind::Share(share) => {
                if let Some(fallback) = &share.fallback {
                    self.action(fallback)?;
                }
            }
            ActionKind::Gateway(gateway) => {
                if let Servers::Upstream(idx) = gateway.servers {
                    self.upstreams.insert(idx);
                }
            }
            ActionKind::Return(_) | ActionKind::Proxy(_) => {}
        }
        let errors = action.options.errors.iter();
        errors.flat_map(|errors| &errors.actions).try_for_each(|(_, action)| self.action(action))
    }

    pub(super) fn unused_routes<'a>(&self, config: &'a Config) -> impl Iterator<Item = &'a Route> {
        config.routes.iter().enumerate().filter(|(idx, _)| !self.routes.contains(idx)).map(|(_, route)| route)
    }

    pub(super) fn unused_applications<'a>(&self, config: &'a Config) -> impl Iterator<Item = &'a AppSpec> {
        let apps = config.applications.iter().enumerate();
        apps.filter(|(idx, _)| !self.applications.contains(idx)).map(|(_, app)| app)
    }

    pub(super) fn unused_upstreams<'a>(&self, config: &'a Config) -> impl Iterator<Item = &'a Upstream> {
        let upstreams = config.upstreams.iter().enumerate();
        upstreams.filter(|(idx, _)| !self.upstreams.contains(idx)).map(|(_, upstream)| upstream)
    }
}
