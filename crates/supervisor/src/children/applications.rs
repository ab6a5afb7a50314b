//! Instances of applications: starting and stopping them, and the workers that their routers ask for.

use std::os::fd::AsFd;
use std::time::Instant;

use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::message::{AppId, EndCause, ToPrototype, ToRouter, WorkerId};

use super::{AppEvent, Children};
use crate::children::app::App;
use crate::decide::life::{Due, LifePhase, Starts};
use crate::ids::RouterId;
use crate::launch::{SocketFolder, StartedProcess};
use crate::programs::{NoStart, Programs};

/// Prototypes that are started before others are heard again: each takes a few milliseconds.
const STARTS_PER_TURN: usize = 4;

impl Children {
    /// Adds a new instance that is to have as many workers as it always keeps. One that keeps none waits for its
    /// first request.
    pub(crate) fn add_app(&mut self, id: AppId, spec: AppSpec, programs: &Programs) {
        let router = (!spec.is_background()).then(|| self.routers.newest().id);
        let mut app = App::new(spec, router, Instant::now());
        if router.is_some() {
            app.workers.want_spare();
        }
        app.kind = self.images.kind_of(&app.spec, programs);
        app.remember_files();
        self.apps.insert(id, app);
    }

    /// Starts instances that were added, a few at a turn, so that other processes are heard meanwhile. One that keeps
    /// no workers is up as it is.
    pub(crate) fn start_soon(&mut self, added: &[AppId]) {
        let now = Instant::now();
        for id in added {
            match self.apps.get_mut(id) {
                Some(app) if app.life.phase() == LifePhase::Down => app.life.backoff.start_at(now),
                Some(app) if app.life.phase() == LifePhase::Dormant => {
                    self.events.push_back(AppEvent::Up(*id));
                }
                _ => {}
            }
        }
    }

    pub(crate) fn start_prototype(&mut self, id: AppId, programs: &Programs) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        app.life.starts();
        app.remember_files();
        if self.starts_from_image(id, programs) {
            return;
        }
        let Some(app) = self.apps.get_mut(&id) else { return };
        match programs.start_prototype(&app.spec) {
            Ok(StartedProcess { mut peer, outputs, membership }) => {
                let n_lanes = app
                    .router
                    .and_then(|router| self.routers.find(router))
                    .map_or(1, |router| router.n_threads);
                let start = ToPrototype::Start { spec: app.spec.clone(), n_lanes };
                // Without it, programs look for a place in their root.
                let (sockets, folder) = SocketFolder::of(&app.spec).and_then(Result::ok).unzip();
                peer.send(&start, &folder.iter().map(AsFd::as_fd).collect::<Vec<_>>());
                app.started(peer, membership, sockets, n_lanes);
                self.outputs.add(outputs.into_iter().map(|output| output.of(id)).collect());
            }
            Err(NoStart::Never(reason)) => {
                app.life.cannot_start(Instant::now());
                self.app_failed(id, &reason);
            }
            Err(NoStart::Now(reason)) => {
                app.life.backoff.failed(Instant::now());
                self.app_failed(id, &reason);
            }
        }
    }

    /// An instance could not load: its router is told that no workers come.
    pub(super) fn app_failed(&mut self, id: AppId, reason: &str) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| !app.life.is_stopping()) else {
            return;
        };
        let reason = format!("application \"{}\": {reason}", app.spec.name);
        for _ in 0..app.failed(reason.clone()) {
            self.tell_router_of(id, &ToRouter::WorkerFailed { app: id, reason: reason.clone() });
        }
        self.lose_work(id, &reason);
        self.events.extend([AppEvent::Decided(id), AppEvent::Failed(id, reason)]);
    }

    /// Gives a new router an instance that may be running already, with new workers.
    pub(crate) fn restore_app(&mut self, id: AppId) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| app.router.is_some()) else {
            return;
        };
        if app.life.phase() == LifePhase::Down && app.life.has_failed() {
            // A request is told why, until the application has loaded, which brings the usual workers.
            return;
        }
        app.workers.want_spare();
        if app.life.phase() == LifePhase::Ready {
            self.announce_app(id);
            self.fork_next(id);
        }
    }

    /// Ends all processes of an instance.
    pub(crate) fn stop_app(&mut self, id: AppId) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        if app.prototype.is_none() {
            return self.remove_app(id);
        }
        if !app.life.is_stopping() {
            app.tell(&ToPrototype::Stop);
            app.life.stops(app.spec.grace(), Instant::now());
        }
    }

    /// Ends a prototype that is not needed; the next request starts another one.
    fn rest_app(&mut self, id: AppId) {
        if let Some(app) = self.apps.get_mut(&id).filter(|app| app.prototype.is_some()) {
            app.tell(&ToPrototype::Stop);
            app.life.rests(Instant::now());
        }
    }

    /// All processes of an instance have ended, and none will be started.
    pub(super) fn remove_app(&mut self, id: AppId) {
        let Some(app) = self.apps.remove(&id) else { return };
        self.end_unused_images();
        self.records.end_instance(&app.spec.name, app.cpu.total(), app.run_counts().as_ref());
        if let Some(router) = app.router {
            self.tell_router(router, &ToRouter::AppGone { app: id });
        }
        self.events.push_back(AppEvent::Ended(id, app.spec.name));
    }

    /// Ends those instances of which this is true.
    pub(super) fn stop_apps(&mut self, is_it: impl Fn(AppId, &App) -> bool) {
        let ids: Vec<_> = self.apps.iter().filter(|(id, app)| is_it(**id, app)).map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.stop_app(id));
    }

    /// A router is gone for good: its instances get no work any more.
    pub(crate) fn stop_apps_of(&mut self, router: RouterId) {
        self.stop_apps(|_, app| app.router == Some(router));
    }

    /// The router in charge died: the next one gets workers of its own, as these wait for a ring that is not filled any
    /// more. Instances that are not `kept` end.
    pub(crate) fn take_back_workers(&mut self, kept: Option<&[AppId]>) {
        let router = Some(self.routers.in_charge.id);
        for app in self.apps.values_mut().filter(|app| app.router == router) {
            // They are asked nothing any more, and leave in order: the end of a router may be that of the daemon.
            for worker in app.workers.lose_router() {
                app.tell(&ToPrototype::Retire { worker });
                self.records.end(&app.spec.name, EndCause::Restart);
            }
        }
        if let Some(kept) = kept {
            self.stop_apps(|other, app| app.router == router && !kept.contains(&other));
        }
    }

    /// Instances serve nothing new: they have a time by which they must have finished.
    pub(crate) fn replace_apps(&mut self, replaced: &[(AppId, AppSpec)]) {
        let now = Instant::now();
        for (id, _) in replaced {
            if let Some(app) = self.apps.get_mut(id) {
                app.life.is_replaced(app.spec.restart.drain_timeout, now);
            }
        }
        self.leave_background(&replaced.iter().map(|(id, _)| *id).collect::<Vec<_>>());
        // No router has one that is unusable, to say that it is unused.
        let is_unusable = |spec: &AppSpec| matches!(spec.runtime, RuntimeSpec::Unusable(_));
        let unusable = replaced.iter().filter(|(_, spec)| is_unusable(spec));
        unusable.for_each(|(id, _)| self.stop_app(*id));
    }

    /// Kills what hangs, and starts again what has waited long enough if anything is started.
    pub(crate) fn apps_on_time(&mut self, starts: Starts, programs: &Programs, now: Instant) {
        self.end_overdue(now);
        if starts == Starts::Permitted {
            self.work_on_time(programs, now);
        }
        let due: Vec<_> =
            self.apps.iter().filter_map(|(id, app)| app.due(now).map(|due| (*id, due))).collect();
        let mut starts_left = if starts == Starts::Permitted { STARTS_PER_TURN } else { 0 };
        for (id, due) in due {
            match due {
                Due::Start if starts_left > 0 => {
                    starts_left -= 1;
                    self.start_prototype(id, programs);
                }
                Due::Start => {}
                Due::Rest => self.rest_app(id),
                Due::GiveUp => self.give_up_prototype(id, "it did not finish loading in time"),
                Due::Kill => self.apps.get(&id).into_iter().for_each(App::kill_prototype),
            }
        }
    }

    /// Ends instances that were replaced and have not finished in time.
    fn end_overdue(&mut self, now: Instant) {
        let overdue = self.apps.iter().filter(|(_, app)| app.life.is_overdue(now)).map(|(id, _)| *id);
        for id in overdue.collect::<Vec<_>>() {
            let name = &self.apps[&id].spec.name;
            tracing::warn!("\"{name}\" application: requests of the processes before have not ended in time");
            self.stop_app(id);
        }
    }

    /// A router asks for a worker.
    pub(crate) fn start_worker(&mut self, router: RouterId, id: AppId, programs: &Programs) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| !app.life.is_stopping()) else {
            let reason = "the application is being stopped".to_owned();
            return self.tell_router(router, &ToRouter::WorkerFailed { app: id, reason });
        };
        let is_dormant = app.life.phase() == LifePhase::Dormant;
        match app.want_one_more() {
            Ok(()) if is_dormant => self.start_prototype(id, programs),
            Ok(()) => self.fork_next(id),
            Err(reason) => self.tell_router(router, &ToRouter::WorkerFailed { app: id, reason }),
        }
    }

    pub(crate) fn kill_worker(&mut self, id: AppId, worker: WorkerId, cause: EndCause, reason: &str) {
        // Otherwise it has ended meanwhile.
        if let Some(app) = self.apps.get_mut(&id)
            && app.workers.kill(worker)
        {
            tracing::warn!("\"{}\" application: killing a worker: {reason}", app.spec.name);
            app.workers.note_cause(worker, cause);
            app.tell(&ToPrototype::Kill { worker });
        }
    }

    pub(crate) fn retire_worker(&mut self, id: AppId, worker: WorkerId) {
        if let Some(app) = self.apps.get_mut(&id)
            && app.workers.retire(worker)
        {
            app.tell(&ToPrototype::Retire { worker });
        }
    }

    /// Tells all workers of an instance to end.
    pub(crate) fn retire_workers(&mut self, id: AppId) {
        let workers: Vec<_> = self.apps.get(&id).into_iter().flat_map(|app| app.workers.running()).collect();
        for worker in workers {
            self.note_cause(id, worker, EndCause::Restart);
            self.retire_worker(id, worker);
        }
    }

    /// A router could not take an instance over.
    pub(crate) fn app_not_taken(&mut self, id: AppId, reason: &str) {
        let is_ready = |app: &App| app.life.phase() == LifePhase::Ready && !app.life.has_failed();
        if self.apps.get(&id).is_some_and(is_ready) {
            self.give_up_prototype(id, reason);
        }
    }
}
