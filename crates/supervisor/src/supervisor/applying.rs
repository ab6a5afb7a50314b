//! Putting a configuration in force: carries out what `Apply` decides.

use std::os::fd::AsFd;
use std::rc::Rc;

use corral_config::plan::{Assets, Plan};
use corral_ipc::message::{AppId, Generation, ToController, ToRouter};

use super::Supervisor;
use crate::access_log::AccessLog;
use crate::app::Phase;
use crate::apply::{Action, Apply, Build, Event, Job, Purpose};
use crate::changes::{self, Placement};
use crate::listeners;

/// What a build is made from.
struct Content {
    plan: Plan,
    document: Vec<u8>,
    assets: Assets,
}

impl Content {
    /// The same again.
    fn of(build: &Build) -> Self {
        let Build { plan, document, assets, .. } = build;
        Self { plan: plan.clone(), document: document.clone(), assets: assets.clone() }
    }
}

impl Supervisor {
    /// Begins the next job when nothing is being applied.
    pub(super) fn begin_next_job(&mut self) {
        while self.apply.is_none()
            && self.stop.is_none()
            && let Some(job) = self.jobs.pop_front()
        {
            self.begin(job);
        }
    }

    fn begin(&mut self, job: Job) {
        let (purpose, content) = match job {
            Job::Change { generation, store, plan, document, assets } => {
                (Purpose::Change { generation, store }, Content { plan, document, assets })
            }
            Job::RestartApp { ticket, name } => match &self.in_force {
                Some(build) if build.apps.iter().any(|(_, spec)| spec.name == name) => {
                    (Purpose::RestartApp { ticket, name }, Content::of(build))
                }
                _ => {
                    let error = Some(format!("there is no application \"{name}\""));
                    return self.tell_controller(&ToController::Restarted { ticket, error });
                }
            },
            Job::Restore => match &self.in_force {
                Some(build) => (Purpose::Restore, Content::of(build)),
                None => return,
            },
        };
        match self.build(&purpose, content) {
            Ok((build, new_apps)) => {
                self.apply = Some(Apply::new(purpose, build, new_apps));
                if self.router.is_ready {
                    self.advance(Event::RouterReady);
                }
            }
            Err(reason) => self.answer(&purpose, Err(reason)),
        }
    }

    /// Binds and opens what is new. When it fails, nothing of it is left.
    fn build(&mut self, purpose: &Purpose, content: Content) -> Result<(Build, Vec<AppId>), String> {
        let Content { plan, document, assets } = content;
        self.check_modules(&plan)?;
        self.fit_router(&plan);
        let ours = self.in_force.as_ref().map_or(&[][..], |build| &build.listeners);
        let listeners = listeners::bind_all(&plan.listeners, ours, self.n_threads);
        let listeners = listeners.map_err(|error| error.to_string())?;
        let access_logs = self.access_logs(&plan).map_err(|error| error.to_string())?;
        let running = self.in_force.as_ref().map_or(&[][..], |build| &build.apps);
        let replace = match purpose {
            Purpose::RestartApp { name, .. } => Some(name.as_str()),
            Purpose::Change { .. } | Purpose::Restore => None,
        };
        let placements = changes::place_apps(running, &plan.applications, replace);
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
        Ok((Build { generation, plan, document, assets, listeners, apps, access_logs }, new_apps))
    }

    /// The controller may only name executables that main itself has found.
    fn check_modules(&self, plan: &Plan) -> Result<(), String> {
        let is_known = |path| self.parts.modules.iter().any(|module| module.path == path);
        match plan.applications.iter().find(|spec| !is_known(spec.module.clone())) {
            None => Ok(()),
            Some(spec) => {
                let (name, path) = (&spec.name, spec.module.display());
                Err(format!("application \"{name}\": \"{path}\" is not among the modules found at start"))
            }
        }
    }

    /// The same path keeps its open file.
    fn access_logs(&self, plan: &Plan) -> Result<Vec<Rc<AccessLog>>, crate::access_log::AccessLogError> {
        let ours = self.in_force.as_ref().map_or(&[][..], |build| &build.access_logs);
        let mut logs: Vec<Rc<AccessLog>> = Vec::new();
        for path in &plan.access_logs {
            let open = logs.iter().chain(ours).find(|log| log.path() == path).map(Rc::clone);
            logs.push(match open {
                Some(log) => log,
                None => Rc::new(AccessLog::open(path)?),
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
            Action::Prepare => self.prepare(),
            Action::Commit => {
                let generation = self.apply.as_ref().map(|apply| apply.build.generation);
                if let Some(generation) = generation {
                    self.tell_router(&ToRouter::Commit { generation });
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
        let generation = apply.build.generation;
        if apply.purpose == Purpose::Restore {
            let apps: Vec<_> = apply.build.apps.iter().map(|(id, _)| *id).collect();
            apps.into_iter().for_each(|id| self.restore_app(id));
        } else {
            let is_new = |id: &AppId| apply.new_apps.contains(id);
            let new = apply.build.apps.iter().filter(|(id, _)| is_new(id)).cloned().collect::<Vec<_>>();
            for (id, spec) in new {
                self.start_app(id, spec);
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
            return self.advance(Event::AppFailed(id, "it is gone".to_owned()));
        };
        app.want_spare();
        match app.phase {
            // Announced when it has loaded.
            Phase::Loading { .. } | Phase::Down | Phase::Stopping { .. } => {}
            Phase::Ready => {
                self.announce_app(id);
                self.fork_next(id);
            }
        }
    }

    fn prepare(&mut self) {
        let (Some(apply), Some(router)) = (&self.apply, &mut self.router.peer) else {
            return;
        };
        let build = &apply.build;
        let generation = build.generation;
        for listener in &build.listeners {
            let address = listener.address().clone();
            let sockets: Vec<_> = listener.sockets().iter().map(AsFd::as_fd).collect();
            router.send(&ToRouter::Listener { generation, address }, &sockets);
        }
        for (log, file) in (0..).zip(&build.access_logs) {
            router.send(&ToRouter::AccessLog { generation, log }, &[file.as_fd()]);
        }
        let document = build.document.clone();
        let applications = build.apps.clone();
        let assets = build.assets.clone();
        router.send(&ToRouter::Prepare { generation, document, applications, assets }, &[]);
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
        let is_used = |id: &AppId| apply.build.apps.iter().any(|(other, _)| other == id);
        let unused: Vec<_> = std::mem::take(&mut self.unused).into_iter().filter(|id| !is_used(id)).collect();
        self.in_force = Some(apply.build);
        unused.into_iter().for_each(|id| self.stop_app(id));
        self.stored = None;
        self.answer(&apply.purpose, Ok(()));
    }

    fn persist(&self, document: &[u8]) {
        let written = self.parts.store.as_ref().map_or(Ok(()), |store| store.write(document));
        if let Err(error) = written {
            let error = anyhow::Error::new(error);
            tracing::error!(target: "alert", "failed to store current configuration: {error:#}");
        }
    }

    fn fail(&mut self, reason: String) {
        let Some(apply) = self.apply.take() else {
            return;
        };
        if apply.is_with_router() {
            self.tell_router(&ToRouter::Abandon { generation: apply.build.generation });
        }
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
            Purpose::RestartApp { ticket, .. } => {
                let error = result.err();
                self.tell_controller(&ToController::Restarted { ticket: *ticket, error });
            }
            Purpose::Restore => {
                if let Err(reason) = result {
                    tracing::error!(target: "alert", "restore the configuration of the router: {reason}");
                    self.router.peer.iter().for_each(|peer| peer.kill(corral_sys::signal::Signal::TERM));
                }
            }
        }
    }

    fn answer_change(&mut self, generation: Generation, result: Result<(), String>) {
        match result {
            Ok(()) => {
                self.tell_controller(&ToController::Applied { generation });
                self.announce_to_console();
            }
            Err(reason) => {
                if self.parts.console.is_some() && self.in_force.is_none() {
                    return self.give_up(&reason);
                }
                tracing::error!("failed to apply new conf: {reason}");
                self.tell_controller(&ToController::Refused { generation, reason });
            }
        }
    }
}
