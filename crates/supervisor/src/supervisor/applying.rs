//! Applying a configuration: has the next one built, and hears what becomes of it.

use std::os::fd::AsFd;
use std::time::Instant;

use corral_config::plan::AppSpec;
use corral_ipc::message::{AppId, StartedInstance, ToRouter};

use super::Supervisor;
use crate::children::Children;
use crate::configuration::Apply;
use crate::configuration::applying::ApplyEffect;
use crate::configuration::build::{Build, Content};
use crate::configuration::builder::Builder;
use crate::configuration::jobs::Purpose;
use crate::decide::steps::ApplyEvent;

impl Supervisor {
    /// Begins the next job when nothing is being applied.
    pub(super) fn begin_next_job(&mut self) {
        while !self.stopping.has_begun()
            && let Some(effects) = self.configuration.begin_next(self.upgrade.goes_on())
        {
            self.carry_out(effects);
            self.hear_news();
        }
    }

    /// Something happened that what is being applied may have waited for.
    pub(super) fn advance(&mut self, event: ApplyEvent) {
        let effects = self.configuration.on(event, Instant::now());
        self.carry_out(effects);
    }

    /// Builds a configuration, and begins to apply it.
    pub(super) fn build(&mut self, purpose: Purpose, content: Content) -> Vec<ApplyEffect> {
        match self.try_to_build(&purpose, content) {
            Ok((build, new_apps)) => {
                let router = self.children.routers.newest();
                let apply = Apply::new(purpose, build, new_apps, router.id);
                let is_served = self.inheritance.predecessor.is_some();
                let apply = if is_served { apply.awaiting_apps() } else { apply };
                self.configuration.apply(apply, router.role.is_ready, Instant::now())
            }
            Err(reason) => self.configuration.not_built(purpose, reason, Instant::now()),
        }
    }

    fn try_to_build(&mut self, purpose: &Purpose, content: Content) -> Result<(Build, Vec<AppId>), String> {
        let Self { children, configuration, programs, inheritance, audience, secrets, .. } = self;
        children.fit_router(&content.plan, programs, secrets)?;
        let generation = configuration.next_generation();
        let builder = Builder {
            in_force: configuration.in_force(),
            keeps_apps: children.routers.successor.is_none(),
            programs,
            handed_over: inheritance.handed_over(),
            given: &inheritance.given.listeners,
            n_threads: children.routers.newest().n_threads,
            alerts: audience.console.is_none(),
        };
        builder.build(purpose, content, generation, || children.ids.next_app())
    }
}

/// Sends the router all of what is being applied, or fails.
pub(super) fn prepare(apply: &Apply, children: &mut Children) -> anyhow::Result<()> {
    let Apply { build, router, .. } = apply;
    let instance = |(id, spec): &(AppId, AppSpec)| StartedInstance {
        id: *id,
        spec: spec.clone(),
        n_coming: children.apps.get(id).map_or(0, |app| app.workers.n_coming()),
    };
    let served = build.apps.iter().take(build.plan.applications.len());
    let applications = served.map(instance).collect();
    let Some(router) = children.routers.peer_mut(*router) else { return Ok(()) };
    let generation = build.generation;
    for listener in &build.listeners {
        let address = listener.address().clone();
        let sockets: Vec<_> = listener.sockets().iter().map(AsFd::as_fd).collect();
        router.try_send(&ToRouter::Listener { generation, address }, &sockets)?;
    }
    for (log, file) in (0..).zip(&build.access_logs) {
        router.try_send(&ToRouter::AccessLog { generation, log }, &[file.as_fd()])?;
    }
    let (document, assets) = (build.document.clone(), build.assets.clone());
    router.try_send(&ToRouter::Prepare { generation, document, applications, assets }, &[])
}
