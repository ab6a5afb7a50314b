//! Which routes, applications and upstreams requests can get to.

use std::collections::HashSet;

use corral_config::Config;
use corral_config::gateway::Servers;
use corral_config::plan::AppSpec;
use corral_config::route::{Action, ActionKind, Destination, Route};
use corral_config::table::{Key, Table};
use corral_config::upstream::Upstream;

/// The keys of those that requests can get to.
#[derive(Default)]
pub(super) struct Used {
    routes: HashSet<Key<Route>>,
    applications: HashSet<Key<AppSpec>>,
    upstreams: HashSet<Key<Upstream>>,
}

impl Used {
    /// Nothing if a destination depends on the request: it may be any.
    pub(super) fn of(config: &Config) -> Option<Self> {
        let mut used = Self::default();
        for listener in &config.listeners {
            used.destination(&listener.pass)?;
            used.upstreams.extend(listener.layer4.iter().flat_map(|layer4| layer4.sni.upstreams()));
        }
        for defaults in config.all_defaults() {
            defaults.inner().try_for_each(|action| used.action(action))?;
        }
        for step in config.routes.iter().flat_map(Route::steps) {
            used.action(&step.action)?;
        }
        Some(used)
    }

    fn destination(&mut self, destination: &Destination) -> Option<()> {
        match destination {
            Destination::Application { app, .. } => self.applications.insert(*app),
            Destination::Upstream(key) => self.upstreams.insert(*key),
            Destination::Route(key) => self.routes.insert(*key),
            Destination::Control(_) => true,
            Destination::Template(_) => return None,
        };
        Some(())
    }

    fn action(&mut self, action: &Action) -> Option<()> {
        match &action.kind {
            ActionKind::Pass(destination) => self.destination(destination)?,
            ActionKind::Gateway(gateway) => {
                if let Servers::Upstream(key) = gateway.servers {
                    self.upstreams.insert(key);
                }
            }
            ActionKind::Share(_)
            | ActionKind::Return(_)
            | ActionKind::Close
            | ActionKind::Proxy(_)
            | ActionKind::DynamicProxy(_) => {}
        }
        action.inner().try_for_each(|action| self.action(action))
    }

    pub(super) fn unused_routes<'a>(&self, config: &'a Config) -> impl Iterator<Item = &'a Route> {
        unused(&config.routes, &self.routes)
    }

    pub(super) fn unused_applications<'a>(&self, config: &'a Config) -> impl Iterator<Item = &'a AppSpec> {
        unused(&config.applications, &self.applications)
    }

    pub(super) fn unused_upstreams<'a>(&self, config: &'a Config) -> impl Iterator<Item = &'a Upstream> {
        unused(&config.upstreams, &self.upstreams)
    }
}

fn unused<'a, T>(all: &'a Table<T>, used: &HashSet<Key<T>>) -> impl Iterator<Item = &'a T> {
    all.entries().filter(|(key, _)| !used.contains(key)).map(|(_, object)| object)
}
