//! Putting a configuration in force: carries out what its steps ask for.

use std::os::fd::AsFd;
use std::time::Instant;

use corral_config::plan::AppSpec;
use corral_ipc::message::{
    AppId, FailedListener, GenerationId, Revocable, StartedInstance, ToController, ToRouter,
};
use corral_sys::signal::Signal;

use super::Supervisor;
use crate::configuration::build::{Build, Content};
use crate::configuration::builder::Builder;
use crate::configuration::jobs::{Job, Purpose};
use crate::configuration::{Apply, Configuration};
use crate::decide::steps::{ApplyAction, ApplyEvent, Steps};
use crate::decide::upgrade::UpgradeEvent;

impl Supervisor {
    /// Begins the next job when nothing is being applied. While a successor starts, the configuration stays as it is.
    pub(super) fn begin_next_job(&mut self) {
        while self.configuration.apply.is_none()
            && !self.stopping.has_begun()
            && let Some(job) = self.configuration.jobs.next(self.upgrade.goes_on())
        {
            self.begin(job);
            self.hear_news();
        }
    }

    fn begin(&mut self, job: Job) {
        let in_force = self.configuration.in_force.as_ref();
        let (purpose, content) = match (job, in_force) {
            (Job::Change { purpose, content }, _) => (purpose, content),
            (Job::RestartApp { ticket, name }, Some(build)) if build.find_app(&name).is_some() => {
                (Purpose::RestartApp { ticket, name }, Content::of(build))
            }
            (Job::RestartApp { ticket, name }, _) => {
                let error = format!("there is no application \"{name}\"");
                return self.answer_restart(ticket, &name, None, Err(error));
            }
            (Job::Upgrade, _) => {
                let stored = self.store_again();
                return self.upgrade_on(UpgradeEvent::Due(stored), Instant::now());
            }
            (Job::Restore, Some(build)) => (Purpose::Restore, Content::of(build)),
            (Job::Rebind, Some(build)) => (Purpose::Rebind, Content::of(build)),
            (Job::Restore | Job::Rebind, None) => return,
        };
        match self.build(&purpose, content) {
            Ok((build, new_apps)) => self.apply(purpose, build, new_apps),
            Err(reason) => {
                self.dismiss_successor();
                self.answer(&purpose, Err(reason));
            }
        }
    }

    fn build(&mut self, purpose: &Purpose, content: Content) -> Result<(Build, Vec<AppId>), String> {
        self.fit_router(&content.plan)?;
        let generation = self.configuration.next_generation();
        let routers = &self.children.routers;
        let builder = Builder {
            in_force: self.configuration.in_force.as_ref(),
            keeps_apps: routers.successor.is_none(),
            programs: &self.programs,
            handed_over: self.inheritance.handed_over(),
            given: &self.inheritance.given.listeners,
            n_threads: routers.newest().n_threads,
            alerts: self.audience.console.is_none(),
        };
        builder.build(purpose, content, generation, || self.children.ids.next_app())
    }

    fn apply(&mut self, purpose: Purpose, build: Build, new_apps: Vec<AppId>) {
        let router = self.children.routers.newest();
        let steps = Steps::new(purpose.tolerates_failures(), new_apps, build.unserved.clone());
        let is_served = self.inheritance.predecessor.is_some();
        let steps = if is_served { steps.awaiting_apps() } else { steps };
        self.configuration.apply = Some(Apply { purpose, build, router: router.id, steps });
        if router.role.is_ready {
            self.advance(ApplyEvent::RouterReady);
        }
    }

    /// Something happened that the current application of a configuration may have waited for.
    pub(super) fn advance(&mut self, event: ApplyEvent) {
        if let Some(apply) = &mut self.configuration.apply {
            let action = apply.steps.on(event);
            self.act(action);
        }
    }

    fn act(&mut self, action: ApplyAction) {
        match action {
            ApplyAction::None => {}
            ApplyAction::StartApps => self.start_apps(),
            ApplyAction::Prepare => {
                if let Err(error) = self.prepare() {
                    self.fail(format!("{error:#}"));
                }
            }
            ApplyAction::Commit { unserved } => self.commit(unserved),
            ApplyAction::Finish => self.finish(),
            ApplyAction::Fail(reason) => self.fail(reason),
        }
    }

    fn start_apps(&mut self) {
        let Self { children, .. } = self;
        let Some(Apply { purpose, build, steps, .. }) = &mut self.configuration.apply else {
            return;
        };
        if *purpose == Purpose::Restore {
            build.apps.iter().for_each(|(id, _)| children.restore_app(*id));
        } else {
            for (id, spec) in build.apps.iter().filter(|(id, _)| steps.new_apps().contains(id)) {
                children.add_app(*id, spec.clone());
            }
            if steps.awaits_apps() {
                children.start_soon(steps.new_apps());
            }
        }
        let action = steps.prepare_if_complete();
        self.act(action);
    }

    /// Sends the router all of it, or fails.
    fn prepare(&mut self) -> anyhow::Result<()> {
        let Some(Apply { build, router, .. }) = &self.configuration.apply else { return Ok(()) };
        let apps = &self.children.apps;
        let n_coming = |id: &AppId| apps.get(id).map_or(0, |app| app.workers.n_coming());
        let instance = |(id, spec): &(AppId, AppSpec)| StartedInstance {
            id: *id,
            spec: spec.clone(),
            n_coming: n_coming(id),
        };
        let served = build.apps.iter().take(build.plan.applications.len());
        let applications = served.map(instance).collect();
        let Some(router) = self.children.routers.peer_mut(*router) else { return Ok(()) };
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

    fn commit(&mut self, unserved: Vec<FailedListener>) {
        let Some(Apply { build, router, .. }) = &mut self.configuration.apply else { return };
        build.do_without(unserved);
        build.listeners.iter().for_each(|bound| bound.open());
        self.children.tell_router(*router, &ToRouter::Commit { generation: build.generation });
    }

    pub(super) fn fail(&mut self, reason: String) {
        if let Some(purpose) = self.undo() {
            self.answer(&purpose, Err(reason));
        }
    }

    /// Takes back what the controller does not want any more. What is past the point of return is answered when it is
    /// in force; the first configuration is never taken back, as nothing would be served.
    pub(super) fn revoke(&mut self, order: Revocable) {
        let Configuration { in_force, apply, jobs, .. } = &mut self.configuration;
        let is_applied = in_force.is_some() && apply.as_ref().is_some_and(|apply| apply.is_revocable(order));
        if is_applied {
            self.undo();
        } else if !jobs.revoke(order) {
            return;
        }
        tracing::info!(target: "notice", "{}", revocation(order));
        self.tell_controller(&ToController::Revoked { order });
    }

    /// Leaves nothing of what is being applied.
    fn undo(&mut self) -> Option<Purpose> {
        let Apply { purpose, build, router, steps } = self.configuration.apply.take()?;
        if steps.is_with_router() {
            self.children.tell_router(router, &ToRouter::Abandon { generation: build.generation });
        }
        self.dismiss_successor();
        steps.new_apps().iter().for_each(|id| self.children.stop_app(*id));
        // Closes new sockets and removes their files, before anybody hears about it.
        drop(build);
        Some(purpose)
    }

    pub(super) fn answer(&mut self, purpose: &Purpose, result: Result<(), String>) {
        match (purpose, result) {
            (Purpose::Change { generation, .. }, result) => self.answer_change(*generation, result),
            (Purpose::RestartApp { ticket, name }, result) => {
                self.answer_restart(*ticket, name, None, result);
            }
            (Purpose::Rebind, Ok(())) => {
                tracing::info!(target: "notice", "a listener has been bound at last");
            }
            (Purpose::Rebind, Err(reason)) => {
                tracing::debug!("{reason}");
                self.configuration.plan_rebinding();
            }
            (Purpose::Restore, Ok(())) => {}
            (Purpose::Restore, Err(reason)) => {
                tracing::error!(target: "alert", "restore the configuration of the router: {reason}");
                let peer = &self.children.routers.in_charge.role.peer;
                peer.iter().for_each(|peer| peer.kill(Signal::TERM));
            }
        }
    }

    /// Says that changes are in force, once no router accepts connections with a configuration before them.
    pub(super) fn answer_changes(&mut self) {
        if self.children.routers.retired_accept() {
            return;
        }
        for generation in std::mem::take(&mut self.configuration.unanswered) {
            let warnings = self.warnings();
            self.tell_controller(&ToController::Applied { generation, warnings });
            self.audience.announce();
        }
    }

    fn answer_change(&mut self, generation: GenerationId, result: Result<(), String>) {
        match result {
            Ok(()) => {
                self.files.trouble = None;
                self.configuration.unanswered.push(generation);
                self.answer_changes();
            }
            Err(reason) => {
                let is_first = self.configuration.in_force.is_none();
                let must_succeed = self.audience.console.is_some() || self.inheritance.predecessor.is_some();
                if is_first && must_succeed {
                    return self.give_up(&reason);
                }
                tracing::error!("failed to apply new conf: {reason}");
                if self.files.are_used() {
                    self.files.trouble = Some(reason.clone());
                }
                self.tell_controller(&ToController::Refused { generation, reason });
            }
        }
    }
}

fn revocation(order: Revocable) -> &'static str {
    match order {
        Revocable::Change(_) => "a change was taken back: a newer one takes its place",
        Revocable::Restart(_) => "a restart was taken back: a newer change takes its place",
    }
}
