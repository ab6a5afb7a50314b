//! Applications: starting and stopping their prototypes, and what these report.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::message::{AppId, Exit, FromPrototype, ToPrototype, ToRouter, WorkerId};
use corral_ipc::reason;
use corral_sys::kin::Kin;
use corral_sys::signal::Signal;

use super::Supervisor;
use crate::app::{App, Fork, Phase};
use crate::apply::{Apply, Event};
use crate::backoff::Backoff;
use crate::launch::{SocketFolder, Started};
use crate::newcomer::Newcomer;
use crate::output::Output;
use crate::peer::Peer;

/// A prototype that was told to end has this long to end its workers.
const LONGEST_STOP: Duration = Duration::from_secs(10);

/// Prototypes that are started before others are heard again: each takes a few milliseconds.
const STARTS_PER_TURN: u32 = 4;

impl Supervisor {
    /// Adds a new instance that is to have as many workers as it always keeps. One that keeps none waits for its
    /// first request.
    pub(super) fn add_app(&mut self, id: AppId, spec: AppSpec) {
        let mut app = App::new(spec, self.routers.newest().id, Instant::now());
        app.want_spare();
        app.remember_files();
        self.apps.insert(id, app);
    }

    /// Adds a new instance and starts it.
    pub(super) fn start_app(&mut self, id: AppId, spec: AppSpec) {
        self.add_app(id, spec);
        if self.apps.get(&id).is_some_and(|app| app.phase == Phase::Dormant) {
            self.advance(Event::AppUp(id));
        } else {
            self.start_prototype(id);
        }
    }

    /// Starts instances that were added, a few at a turn, so that everybody else is heard meanwhile.
    pub(super) fn start_soon(&mut self, added: &[AppId]) {
        let now = Instant::now();
        for id in added {
            if let Some(app) = self.apps.get_mut(id).filter(|app| app.phase == Phase::Down) {
                app.backoff.start_at(now);
            }
        }
    }

    pub(super) fn start_prototype(&mut self, id: AppId) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        app.phase = Phase::Down;
        app.remember_files();
        if let RuntimeSpec::Unusable(reason) = &app.spec.runtime {
            let reason = reason.clone();
            // Not tried again: it takes another configuration.
            app.backoff = Backoff::new(Instant::now());
            return self.app_failed(id, &reason);
        }
        let Some(files) = self.parts.host_files(&app.spec) else {
            // Not tried again: modules are looked for only once.
            app.backoff = Backoff::new(Instant::now());
            return self.app_failed(id, "the module that runs it was not found when the daemon started");
        };
        match self.parts.launcher.start_prototype(&app.spec, &files) {
            Ok(Started { mut peer, outputs, membership }) => {
                let n_lanes = self.routers.find(app.router).map_or(1, |router| router.n_threads);
                let start = ToPrototype::Start { spec: app.spec.clone(), n_lanes };
                // Without it, programs look for a place in their root.
                let (sockets, folder) = SocketFolder::of(&app.spec).and_then(Result::ok).unzip();
                peer.send(&start, &folder.iter().map(AsFd::as_fd).collect::<Vec<_>>());
                app.started(peer, membership, Instant::now());
                app.sockets = sockets;
                app.n_lanes = n_lanes;
                self.outputs.extend(outputs.into_iter().map(|output| output.of(id)));
            }
            Err(error) => {
                app.backoff.failed(Instant::now());
                self.app_failed(id, &format!("{:#}", anyhow::Error::new(error)));
            }
        }
    }

    /// Handles one message of a prototype; false when there is none.
    pub(super) fn read_prototype(&mut self, id: AppId) -> bool {
        let peer = self.apps.get_mut(&id).and_then(|app| app.prototype.as_mut());
        let Some((message, fds)) = peer.and_then(|peer| peer.next_message()) else {
            return false;
        };
        match message {
            FromPrototype::Ready => self.prototype_ready(id, fds),
            FromPrototype::Failed { reason } => self.prototype_failed(id, &reason::cut(reason)),
            FromPrototype::Forked { worker, pid, hands, files } => {
                self.worker_forked(id, Newcomer::forked(worker, pid, hands, files, fds));
            }
            FromPrototype::Started { worker, pid, door } => {
                self.worker_forked(id, Newcomer::started(worker, pid, door, fds));
            }
            FromPrototype::Begun { worker, pid } => {
                self.program_begun(id, worker, pid, fds.into_iter().next());
            }
            FromPrototype::ForkFailed { worker, reason } => {
                self.fork_failed(id, worker, &reason::cut(reason));
            }
            FromPrototype::Exited { worker, exit } => self.worker_exited(id, worker, exit),
        }
        true
    }

    fn prototype_ready(&mut self, id: AppId, bell: Vec<OwnedFd>) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| !app.is_stopping()) else { return };
        if !matches!(app.phase, Phase::Loading { .. }) {
            return self.end_liar(id, "says twice that it has loaded");
        }
        let n_due = if app.runs_programs() { 0 } else { 1 + usize::from(app.n_lanes) };
        match bell.len() {
            n if n == n_due => {}
            0 => {
                return self
                    .give_up_prototype(id, "take over what its processes share: no descriptor is left");
            }
            _ => return self.end_liar(id, "has a bell for another number of event loops"),
        }
        tracing::info!("\"{}\" prototype started", app.spec.name);
        app.loaded(bell, Instant::now());
        self.announce_app(id);
        self.fork_next(id);
    }

    fn prototype_failed(&mut self, id: AppId, reason: &str) {
        let Some(app) = self.apps.get(&id).filter(|app| !app.is_stopping()) else { return };
        if !matches!(app.phase, Phase::Loading { .. }) || app.has_failed() {
            return self.end_liar(id, "says that it cannot load what it has loaded");
        }
        self.app_failed(id, reason);
    }

    /// Kills a prototype that says what none of ours does.
    fn end_liar(&mut self, id: AppId, what: &str) {
        if let Some(prototype) = self.apps.get_mut(&id).and_then(|app| app.prototype.as_mut()) {
            prototype.give_up(what);
        }
    }

    /// It has loaded, and is of no use all the same: another one is started later.
    pub(super) fn give_up_prototype(&mut self, id: AppId, reason: &str) {
        self.kill_prototype(id);
        self.app_failed(id, reason);
    }

    /// Tells the router about an instance whose prototype is ready.
    pub(super) fn announce_app(&mut self, id: AppId) {
        if let Some(app) = self.apps.get(&id).filter(|app| app.phase == Phase::Ready)
            && let Some(router) = self.routers.peer_mut(app.router)
        {
            let bell: Vec<_> = app.bell.iter().map(AsFd::as_fd).collect();
            router.send(&ToRouter::AppReady { app: id, rings: !bell.is_empty() }, &bell);
        }
    }

    /// Asks for the next worker that is wanted, or reports that all are there.
    pub(super) fn fork_next(&mut self, id: AppId) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        if !app.is_forking() {
            self.outputs.iter_mut().filter(|output| output.is_of(id)).for_each(Output::forget_words);
        }
        while let Some(worker) = app.next_fork(|| self.ids.next_worker()) {
            if let Some(prototype) = &mut app.prototype {
                prototype.send(&ToPrototype::Fork { worker }, &[]);
            }
        }
        if app.is_up() {
            self.advance(Event::AppUp(id));
        }
    }

    /// A program that may never be ready: it must not outlive its prototype.
    fn program_begun(&mut self, id: AppId, worker: WorkerId, number: u32, pidfd: Option<OwnedFd>) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let Some(prototype) = app.prototype.as_ref().map(Peer::pid) else { return };
        if !app.runs_programs() || app.fork_of(worker) == Fork::Unasked {
            return self.end_liar(id, "runs a program that nobody has asked for");
        }
        match Kin::find(prototype, number, app.spec.isolation.namespaces.pid, pidfd) {
            Ok(Some(process)) => app.has_begun(worker, process),
            Ok(None) => {}
            Err(error) => self.end_liar(id, &format!("has a program that is none of its own: {error}")),
        }
    }

    fn worker_forked(&mut self, id: AppId, mut newcomer: Newcomer) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let Some(prototype) = app.prototype.as_ref().filter(|_| !app.is_stopping()).map(Peer::pid) else {
            return; // it ends it with the others
        };
        let worker = newcomer.worker;
        match app.fork_of(worker) {
            Fork::Awaited => {}
            Fork::Stale => {
                app.settle_fork(worker);
                self.tell_prototype(id, &ToPrototype::Kill { worker });
                return self.fork_next(id);
            }
            Fork::Unasked => return self.end_liar(id, "has a worker that nobody has asked for"),
        }
        if !newcomer.fits(&app.spec, self.parts.control.address()) {
            return self.end_liar(id, "has a worker that is reached in another way than it should be");
        }
        let process = match newcomer.process(prototype, app.spec.isolation.namespaces.pid) {
            Ok(process) => process,
            Err(error) => return self.end_liar(id, &format!("has a worker that is none: {error}")),
        };
        let pid = process.as_ref().map_or(0, |process| process.pid().as_raw_nonzero().get().unsigned_abs());
        app.forked(worker, process);
        app.strays = newcomer.strays();
        let Some(router) = self.routers.peer_mut(app.router) else { return self.fork_next(id) };
        match newcomer.announce(id, pid, router) {
            Ok(()) => tracing::info!("\"{}\" application started, process {pid}", app.spec.name),
            Err(error) => {
                self.tell_prototype(id, &ToPrototype::Kill { worker });
                self.worker_failed(id, &format!("take over a worker: {error:#}"));
            }
        }
        self.worker_is_decided(id);
        self.fork_next(id);
    }

    pub(super) fn tell_prototype(&mut self, id: AppId, message: &ToPrototype) {
        if let Some(prototype) = self.apps.get_mut(&id).and_then(|app| app.prototype.as_mut()) {
            prototype.send(message, &[]);
        }
    }

    fn fork_failed(&mut self, id: AppId, worker: WorkerId, reason: &str) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        if app.fork_of(worker) == Fork::Unasked && !app.is_stopping() {
            return self.end_liar(id, "could not start a worker that nobody has asked for");
        }
        if app.settle_fork(worker) {
            let reason = self.with_last_words(id, reason);
            self.worker_failed(id, &reason);
        }
        self.fork_next(id);
    }

    /// Adds what a program has said since it was started.
    fn with_last_words(&mut self, id: AppId, reason: &str) -> String {
        let Some(app) = self.apps.get(&id).filter(|app| app.runs_programs()) else {
            return reason.to_owned();
        };
        let output = self.outputs.iter_mut().find(|output| output.is_of(id));
        let words = output.map_or_else(Vec::new, Output::last_words);
        match (&app.spec.stderr, words.is_empty()) {
            (_, false) => format!("{reason}; it said: {}", words.join(" | ")),
            (Some(file), true) => format!("{reason}; what it said is in \"{}\"", file.display()),
            (None, true) => reason.to_owned(),
        }
    }

    /// A worker that was asked for does not come: who waits for it is told.
    fn worker_failed(&mut self, id: AppId, reason: &str) {
        self.worker_is_decided(id);
        let Some(app) = self.apps.get(&id) else { return };
        let described = format!("application \"{}\": {reason}", app.spec.name);
        if !self.is_reported_with_configuration(id) {
            tracing::error!("{described}");
        }
        self.tell_router_of(id, &ToRouter::WorkerFailed { app: id, reason: reason.to_owned() });
        self.advance(Event::AppFailed(id, described));
    }

    fn worker_exited(&mut self, id: AppId, worker: WorkerId, exit: Exit) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        // One of a router that has died was taken out before.
        let Some((process, is_expected)) = app.ended(worker, Instant::now()) else {
            return;
        };
        let pid = process.map_or(0, |process| process.pid().as_raw_nonzero().get());
        let name = &app.spec.name;
        match exit {
            Exit::Code(code) => {
                if code != 0 && !is_expected {
                    app.crashes.count(format!("process {pid} exited with code {code}"));
                }
                tracing::info!(target: "notice", "app process {pid} exited with code {code} (\"{name}\")");
            }
            // It was told to.
            Exit::Signal(_) if is_expected => tracing::debug!("app process {pid} ended (\"{name}\")"),
            Exit::Signal(number) => {
                app.crashes.count(format!("process {pid} exited on signal {number}"));
                tracing::error!(target: "alert", "app process {pid} exited on signal {number} (\"{name}\")");
            }
        }
        self.tell_router_of(id, &ToRouter::WorkerGone { app: id, worker, exit });
        // Another one may have waited for the place.
        self.fork_next(id);
    }

    /// One that belongs to a new configuration is reported as the reason why that fails.
    fn is_reported_with_configuration(&self, id: AppId) -> bool {
        let is_new = |apply: &Apply| !apply.purpose.tolerates_failures() && apply.new_apps.contains(&id);
        self.apply.as_ref().is_some_and(is_new)
    }

    /// An instance could not load: whoever waits for it is told, and it is tried again later unless
    /// it belongs to a configuration that fails for this.
    pub(super) fn app_failed(&mut self, id: AppId, reason: &str) {
        let is_reported = self.is_reported_with_configuration(id);
        let Some(app) = self.apps.get(&id).filter(|app| !app.is_stopping()) else {
            return;
        };
        let reason = format!("application \"{}\": {reason}", app.spec.name);
        self.worker_is_decided(id);
        if !is_reported {
            tracing::error!("{reason}");
        }
        let n_given_up = self.apps.get_mut(&id).map_or(0, |app| app.failed(reason.clone()));
        for _ in 0..n_given_up {
            self.tell_router_of(id, &ToRouter::WorkerFailed { app: id, reason: reason.clone() });
        }
        self.advance(Event::AppFailed(id, reason));
    }

    /// Ends all processes of an instance.
    pub(super) fn stop_app(&mut self, id: AppId) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        let Some(prototype) = &mut app.prototype else {
            return self.remove_app(id);
        };
        if !matches!(app.phase, Phase::Stopping { .. }) {
            prototype.send(&ToPrototype::Stop, &[]);
            app.phase = Phase::Stopping { deadline: Instant::now() + LONGEST_STOP };
        }
    }

    /// Ends a prototype that nobody needs; the next request starts another one.
    fn rest_app(&mut self, id: AppId) {
        if let Some(app) = self.apps.get_mut(&id)
            && let Some(prototype) = &mut app.prototype
        {
            prototype.send(&ToPrototype::Stop, &[]);
            app.phase = Phase::Resting { deadline: Instant::now() + LONGEST_STOP };
        }
    }

    /// All processes of an instance have ended, and none will be started.
    pub(super) fn remove_app(&mut self, id: AppId) {
        let Some(app) = self.apps.remove(&id) else { return };
        self.troubles.restarts.remove(&id);
        self.tell_router(app.router, &ToRouter::AppGone { app: id });
        self.end_switch(id);
    }

    /// Ends those instances of which this is true.
    pub(super) fn stop_apps(&mut self, is_it: impl Fn(AppId, &App) -> bool) {
        let ids: Vec<_> = self.apps.iter().filter(|(id, app)| is_it(**id, app)).map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.stop_app(id));
    }

    /// Kills what hangs, starts again what has waited long enough.
    pub(super) fn apps_on_time(&mut self, now: Instant) {
        self.end_overdue(now);
        let due = self.apps.iter().filter(|(_, app)| app.phase_deadline().is_some_and(|at| at <= now));
        let due: Vec<_> = due.map(|(id, app)| (*id, app.phase)).collect();
        let mut starts_left = STARTS_PER_TURN;
        for (id, phase) in due {
            match phase {
                Phase::Down if self.stop.is_none() && starts_left > 0 => {
                    starts_left -= 1;
                    self.start_prototype(id);
                }
                Phase::Ready => self.rest_app(id),
                Phase::Down | Phase::Dormant => {}
                Phase::Loading { .. } => {
                    self.kill_prototype(id);
                    self.app_failed(id, "it did not finish loading in time");
                }
                Phase::Stopping { .. } | Phase::Resting { .. } => self.kill_prototype(id),
            }
        }
    }

    /// Ends instances that were replaced and have not finished in time.
    fn end_overdue(&mut self, now: Instant) {
        let overdue = self.apps.iter().filter(|(_, app)| app.is_overdue(now)).map(|(id, _)| *id);
        for id in overdue.collect::<Vec<_>>() {
            let name = &self.apps[&id].spec.name;
            tracing::warn!("\"{name}\" application: requests of the processes before have not ended in time");
            self.stop_app(id);
        }
    }

    fn kill_prototype(&self, id: AppId) {
        if let Some(prototype) = self.apps.get(&id).and_then(|app| app.prototype.as_ref()) {
            prototype.kill(Signal::KILL);
        }
    }
}
