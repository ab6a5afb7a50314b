//! Putting a configuration in force: carries out what `Apply` decides.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Instant;

use corral_config::plan::{AppSpec, Plan};
use corral_ipc::message::{AppId, Generation, Instance, ToController, ToRouter};
use corral_sys::process;

use super::Supervisor;
use crate::access_log::AccessLog;
use crate::app::{App, Phase};
use crate::apply::{Action, Apply, Build, Content, Event, Job, Purpose};
use crate::backoff::Backoff;
use crate::changes::{self, Placement};
use crate::descriptors;
use crate::listeners::{self, BindError, Bound};

/// Those that are bound, and those that cannot be.
type Listeners = (Vec<Rc<Bound>>, Vec<BindError>);

impl Supervisor {
    /// Begins the next job when nothing is being applied. While a successor starts, the configuration stays as it is.
    pub(super) fn begin_next_job(&mut self) {
        while self.apply.is_none()
            && self.stop.is_none()
            && (self.upgrade.is_none() || matches!(self.jobs.front(), Some(Job::Restore)))
            && let Some(job) = self.jobs.pop_front()
        {
            self.begin(job);
        }
    }

    fn begin(&mut self, job: Job) {
        let (purpose, content) = match job {
            Job::Change { purpose, content } => (purpose, content),
            Job::RestartApp { ticket, name } => match &self.in_force {
                Some(build) if build.apps.iter().any(|(_, spec)| spec.name == name) => {
                    (Purpose::RestartApp { ticket, name }, Content::of(build))
                }
                _ => {
                    let error = format!("there is no application \"{name}\"");
                    return self.answer_restart(ticket, &name, None, Err(error));
                }
            },
            Job::Restore => match &self.in_force {
                Some(build) => (Purpose::Restore, Content::of(build)),
                None => return,
            },
            Job::Upgrade => return self.begin_upgrade(),
            Job::Rebind => match &self.in_force {
                Some(build) => (Purpose::Rebind, Content::of(build)),
                None => return,
            },
        };
        match self.build(&purpose, content) {
            Ok((build, new_apps)) => {
                let router = self.routers.newest();
                let is_ready = router.role.is_ready;
                let apply = Apply::new(purpose, build, new_apps, router.id);
                let is_served = self.parts.predecessor.is_some();
                self.apply = Some(if is_served { apply.awaiting_apps() } else { apply });
                if is_ready {
                    self.advance(Event::RouterReady);
                }
            }
            Err(reason) => {
                self.dismiss_successor();
                self.answer(&purpose, Err(reason));
            }
        }
    }

    /// Binds and opens what is new. When it fails, nothing of it is left.
    fn build(&mut self, purpose: &Purpose, content: Content) -> Result<(Build, Vec<AppId>), String> {
        let Content { plan, document, assets } = content;
        let is_tolerant = purpose.tolerates_failures();
        self.fit_router(&plan)?;
        let running = self.in_force.as_ref().map_or(&[][..], |build| &build.apps);
        // Workers answer the event loops of one router only.
        let running = if self.routers.successor.is_some() { &[] } else { running };
        let replace = match purpose {
            Purpose::RestartApp { name, .. } => Some(name.as_str()),
            Purpose::Change { .. } | Purpose::Restore | Purpose::Rebind => None,
        };
        let placements = changes::place_apps(running, &plan.applications, replace);
        if !is_tolerant {
            self.check_new_apps(&placements, &plan)?;
        }
        let (listeners, unbound) = self.bind_listeners(&plan, purpose)?;
        let access_logs = self.access_logs(&plan, is_tolerant).map_err(|error| error.to_string())?;
        let mut new_apps = Vec::new();
        let mut apps = Vec::new();
        for (placement, spec) in placements.into_iter().zip(&plan.applications) {
            let id = match placement {
                Placement::Keep(id) => id,
                Placement::Start => {
                    new_apps.push(self.ids.next_app());
                    *new_apps.last().expect("just pushed")
                }
            };
            apps.push((id, spec.clone()));
        }
        let generation = self.ids.next_generation();
        let unserved = self.in_force.as_ref().map(|build| build.unserved.clone()).unwrap_or_default();
        let build =
            Build { generation, plan, document, assets, listeners, unbound, unserved, apps, access_logs };
        Ok((build, new_apps))
    }

    /// Binds what is new. A listener that could not be bound before does not keep others from being
    /// changed.
    fn bind_listeners(&mut self, plan: &Plan, purpose: &Purpose) -> Result<Listeners, String> {
        let handed_over =
            self.parts.predecessor.as_ref().map_or(&[][..], |predecessor| &predecessor.listeners);
        let (ours, unbound) =
            self.in_force.as_ref().map_or((handed_over, &[][..]), |build| (&build.listeners, &build.unbound));
        let ours: Vec<_> = ours.iter().chain(&self.parts.given.listeners).cloned().collect();
        let is_known = |error: &BindError| unbound.iter().any(|other| other.address() == error.address());
        let limit = process::descriptor_limit();
        let n_sockets = descriptors::sockets_each(&plan.listeners, self.routers.newest().n_threads, limit);
        let (listeners, failed) = listeners::bind_all(&plan.listeners, &ours, n_sockets, |error| {
            purpose.tolerates_failures() || is_known(error)
        })
        .map_err(|error| {
            // Who sits before the console is told in one line of its own.
            if self.parts.console.is_none() {
                error.alert();
            }
            error.to_string()
        })?;
        if *purpose == Purpose::Rebind && failed.len() >= unbound.len() {
            return Err("no listener can be bound that could not be bound before".to_owned());
        }
        for error in failed.iter().filter(|error| !is_known(error)) {
            tracing::error!(target: "alert", "{error}; trying again");
        }
        Ok((listeners, failed))
    }

    /// What is known about new applications before anything is started, which for some is much later: the
    /// controller may only name executables that main itself has found, and users and roots must exist.
    fn check_new_apps(&self, placements: &[Placement], plan: &Plan) -> Result<(), String> {
        let new = placements.iter().zip(&plan.applications);
        for (_, spec) in new.filter(|(placement, _)| **placement == Placement::Start) {
            let name = &spec.name;
            if self.parts.host_files(spec).is_none() {
                let path = spec.module.display();
                return Err(format!(
                    "application \"{name}\": \"{path}\" is not among the modules found at start"
                ));
            }
            self.parts
                .launcher
                .check(spec)
                .map_err(|error| format!("application \"{name}\": {:#}", anyhow::Error::new(error)))?;
        }
        Ok(())
    }

    /// The same path keeps its open file.
    fn access_logs(
        &self,
        plan: &Plan,
        is_tolerant: bool,
    ) -> Result<Vec<Rc<AccessLog>>, crate::access_log::AccessLogError> {
        let ours = self.in_force.as_ref().map_or(&[][..], |build| &build.access_logs);
        let mut logs: Vec<Rc<AccessLog>> = Vec::new();
        for path in &plan.access_logs {
            let open = logs.iter().chain(ours).find(|log| log.path() == path).map(Rc::clone);
            logs.push(match open {
                Some(log) => log,
                None => Rc::new(match AccessLog::open(path) {
                    Err(error) if is_tolerant => {
                        tracing::error!(target: "alert", "{error}; nothing is logged there until SIGUSR1");
                        AccessLog::nowhere(path)?
                    }
                    opened => opened?,
                }),
            });
        }
        Ok(logs)
    }

    /// Something happened that the current application of a configuration may have waited for.
    pub(super) fn advance(&mut self, event: Event) {
        if let Some(apply) = &mut self.apply {
            let action = apply.on(event);
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::None => {}
            Action::StartApps => self.start_apps(),
            Action::Prepare => {
                if let Err(error) = self.prepare() {
                    self.fail(format!("{error:#}"));
                }
            }
            Action::Commit => {
                if let Some(Apply { build, router, .. }) = &self.apply {
                    build.listeners.iter().for_each(|bound| bound.open());
                    self.tell_router(*router, &ToRouter::Commit { generation: build.generation });
                }
            }
            Action::Finish => self.finish(),
            Action::Fail(reason) => self.fail(reason),
        }
    }

    fn start_apps(&mut self) {
        let Some(apply) = &self.apply else {
            return;
        };
        let (generation, awaits_apps) = (apply.build.generation, apply.awaits_apps);
        if apply.purpose == Purpose::Restore {
            let apps: Vec<_> = apply.build.apps.iter().map(|(id, _)| *id).collect();
            apps.into_iter().for_each(|id| self.restore_app(id));
        } else {
            let is_new = |id: &AppId| apply.new_apps.contains(id);
            let new = apply.build.apps.iter().filter(|(id, _)| is_new(id)).cloned().collect::<Vec<_>>();
            for (id, spec) in new {
                if awaits_apps { self.start_app(id, spec) } else { self.add_app(id, spec) }
            }
        }
        // Each may have failed at once, and taken the whole with it.
        if let Some(apply) = self.apply.as_mut().filter(|apply| apply.build.generation == generation) {
            let action = apply.prepare_if_complete();
            self.act(action);
        }
    }

    /// Gives a new router an instance that may be running already, with new workers.
    fn restore_app(&mut self, id: AppId) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        if app.phase == Phase::Down && app.has_failed() {
            // Who asks is told why, until it has loaded, which brings the usual workers.
            return;
        }
        app.want_spare();
        if app.phase == Phase::Ready {
            self.announce_app(id);
            self.fork_next(id);
        }
    }

    /// Sends the router all of it, or fails.
    fn prepare(&mut self) -> anyhow::Result<()> {
        let Some(apply) = &self.apply else { return Ok(()) };
        let Some(router) = self.routers.peer_mut(apply.router) else { return Ok(()) };
        let build = &apply.build;
        let generation = build.generation;
        for listener in &build.listeners {
            let address = listener.address().clone();
            let sockets: Vec<_> = listener.sockets().iter().map(AsFd::as_fd).collect();
            router.try_send(&ToRouter::Listener { generation, address }, &sockets)?;
        }
        for (log, file) in (0..).zip(&build.access_logs) {
            router.try_send(&ToRouter::AccessLog { generation, log }, &[file.as_fd()])?;
        }
        let document = build.document.clone();
        let n_coming = |id: &AppId| self.apps.get(id).map_or(0, App::n_coming);
        let instance =
            |(id, spec): &(AppId, AppSpec)| Instance { id: *id, spec: spec.clone(), n_coming: n_coming(id) };
        let applications = build.apps.iter().map(instance).collect();
        let assets = build.assets.clone();
        router.try_send(&ToRouter::Prepare { generation, document, applications, assets }, &[])
    }

    /// It is in force: the sockets that only the old one had are closed, its instances go when the
    /// router has drained them.
    fn finish(&mut self) {
        let Some(apply) = self.apply.take() else {
            return;
        };
        if let Purpose::Change { store: true, .. } = apply.purpose
            && self.parts.files.is_none()
        {
            self.persist(&apply.build.document);
        }
        let known = self.in_force.as_ref().map_or(&[][..], |build| &build.unserved);
        for failed in apply.build.unserved.iter().filter(|failed| !known.contains(failed)) {
            tracing::error!(target: "alert", "{}; it does not listen", failed.reason);
        }
        listeners::adjust(&apply.build.plan.listeners, &apply.build.listeners);
        self.parts.given.report_unused(&apply.build.listeners);
        let used: HashSet<_> = apply.build.apps.iter().map(|(id, _)| *id).collect();
        let unused: Vec<_> =
            std::mem::take(&mut self.unused).into_iter().filter(|id| !used.contains(id)).collect();
        corral_ipc::log::obey(apply.build.plan.log);
        let before = self.in_force.replace(apply.build);
        self.complain_of_shortage(before.as_ref());
        let mut replaced = before.map_or_else(Vec::new, |build| build.apps);
        replaced.retain(|(id, _)| !used.contains(id));
        self.limit_draining(&replaced);
        self.report_sharing();
        self.take_over();
        unused.into_iter().for_each(|id| self.stop_app(id));
        if !apply.awaits_apps {
            self.start_soon(&apply.new_apps);
        }
        self.stored = None;
        self.plan_rebinding();
        self.plan_looks();
        match &apply.purpose {
            Purpose::RestartApp { ticket, name } => {
                let replaced = replaced.iter().find(|(_, spec)| spec.name == *name).map(|(id, _)| *id);
                self.answer_restart(*ticket, name, replaced, Ok(()));
            }
            purpose => self.answer(purpose, Ok(())),
        }
    }

    /// Instances that serve nothing new have a time by which they must have finished.
    fn limit_draining(&mut self, replaced: &[(AppId, AppSpec)]) {
        let now = Instant::now();
        for (id, _) in replaced {
            if let Some(app) = self.apps.get_mut(id) {
                app.is_replaced(now);
            }
        }
    }

    /// Sets the time at which listeners that could not be bound are tried again.
    fn plan_rebinding(&mut self) {
        let now = Instant::now();
        if self.in_force.as_ref().is_none_or(|build| build.unbound.is_empty()) {
            self.rebinding = Backoff::new(now);
        } else {
            self.rebinding.failed(now);
        }
    }

    pub(super) fn fail(&mut self, reason: String) {
        let Some(apply) = self.apply.take() else {
            return;
        };
        if apply.is_with_router() {
            self.tell_router(apply.router, &ToRouter::Abandon { generation: apply.build.generation });
        }
        self.dismiss_successor();
        for id in apply.new_apps {
            self.stop_app(id);
        }
        // Closes new sockets and removes their files, before anybody hears about it.
        drop(apply.build);
        self.answer(&apply.purpose, Err(reason));
    }

    fn answer(&mut self, purpose: &Purpose, result: Result<(), String>) {
        match purpose {
            Purpose::Change { generation, .. } => self.answer_change(*generation, result),
            Purpose::RestartApp { ticket, name } => self.answer_restart(*ticket, name, None, result),
            Purpose::Rebind => match result {
                Ok(()) => tracing::info!(target: "notice", "a listener has been bound at last"),
                Err(reason) => {
                    tracing::debug!("{reason}");
                    self.plan_rebinding();
                }
            },
            Purpose::Restore => {
                if let Err(reason) = result {
                    tracing::error!(target: "alert", "restore the configuration of the router: {reason}");
                    let peer = &self.routers.in_charge.role.peer;
                    peer.iter().for_each(|peer| peer.kill(corral_sys::signal::Signal::TERM));
                }
            }
        }
    }

    fn answer_change(&mut self, generation: Generation, result: Result<(), String>) {
        match result {
            Ok(()) => {
                self.troubles.files = None;
                let warnings = self.warnings();
                self.tell_controller(&ToController::Applied { generation, warnings });
                self.announce_to_console();
            }
            Err(reason) => {
                let is_first = self.in_force.is_none();
                if is_first && (self.parts.console.is_some() || self.parts.predecessor.is_some()) {
                    return self.give_up(&reason);
                }
                tracing::error!("failed to apply new conf: {reason}");
                if self.parts.files.is_some() {
                    self.troubles.files = Some(reason.clone());
                }
                self.tell_controller(&ToController::Refused { generation, reason });
            }
        }
    }
}
