//! Reports of prototypes, and requests to them.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use corral_config::address::ListenAddress;
use corral_ipc::message::{AppId, EndCause, Exit, FromPrototype, ToPrototype, ToRouter, WorkerId};
use corral_ipc::reason;
use corral_sys::child_check::VerifiedChild;
use corral_sys::signal::{Ended, Pid, Signal};

use super::{AppEvent, Children, taken_port};
use crate::children::app::App;
use crate::children::started_worker::StartedWorker;
use crate::decide::life::LifePhase;
use crate::decide::worker_end::WorkerEnd;
use crate::decide::workers::ForkOrder;
use crate::peer::Peer;
use crate::programs::Programs;

impl Children {
    /// Handles one message of a prototype; false when there is none. No program may have the port of the `control` API.
    pub(crate) fn read_prototype(&mut self, id: AppId, control: &ListenAddress) -> bool {
        let peer = self.apps.get_mut(&id).and_then(|app| app.prototype.as_mut());
        let Some((message, fds)) = peer.and_then(|peer| peer.next_message()) else {
            return false;
        };
        match message {
            FromPrototype::Ready => self.prototype_ready(id, fds),
            FromPrototype::Failed { reason } => self.prototype_failed(id, &reason::cut(reason)),
            FromPrototype::Forked { worker, pid, concurrency, files } => {
                self.worker_forked(id, StartedWorker::forked(worker, pid, concurrency, files, fds), control);
            }
            FromPrototype::Started { worker, pid, endpoint } => {
                self.worker_forked(id, StartedWorker::started(worker, pid, endpoint, fds), control);
            }
            FromPrototype::Begun { worker, pid } => {
                self.program_begun(id, worker, pid, fds.into_iter().next());
            }
            FromPrototype::QueueLength { length } => self.queue_measured(id, length.map_err(reason::cut)),
            FromPrototype::ForkFailed { worker, reason } => {
                self.fork_failed(id, worker, &reason::cut(reason));
            }
            FromPrototype::Exited { worker, exit } => self.worker_exited(id, worker, exit),
        }
        true
    }

    fn prototype_ready(&mut self, id: AppId, bell: Vec<OwnedFd>) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| !app.life.is_stopping()) else { return };
        if !app.life.is_loading() {
            return app.end_liar("says twice that it has loaded");
        }
        let n_due = if app.runs_programs() { 0 } else { 1 + usize::from(app.n_lanes) };
        match bell.len() {
            n if n == n_due => {}
            0 => {
                return self
                    .give_up_prototype(id, "take over what its processes share: no descriptor is left");
            }
            _ => return app.end_liar("has a bell for another number of event loops"),
        }
        tracing::info!("\"{}\" prototype started", app.spec.name);
        app.loaded(bell, Instant::now());
        self.announce_app(id);
        self.fork_next(id);
    }

    fn prototype_failed(&mut self, id: AppId, reason: &str) {
        let Some(app) = self.apps.get_mut(&id).filter(|app| !app.life.is_stopping()) else { return };
        if !app.life.is_loading() || app.life.has_failed() {
            return app.end_liar("says that it cannot load what it has loaded");
        }
        self.app_failed(id, reason);
    }

    /// The prototype is of no use: another one is started later.
    pub(super) fn give_up_prototype(&mut self, id: AppId, reason: &str) {
        self.apps.get(&id).into_iter().for_each(App::kill_prototype);
        self.app_failed(id, reason);
    }

    /// Tells the router about an instance whose prototype is ready.
    pub(super) fn announce_app(&mut self, id: AppId) {
        if let Some(app) = self.apps.get(&id).filter(|app| app.life.phase() == LifePhase::Ready)
            && let Some(router) = app.router.and_then(|router| self.routers.peer_mut(router))
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
        if !app.workers.is_forking() {
            self.outputs.forget_words_of(id);
        }
        while let Some(worker) = app.next_fork(|| self.ids.next_worker()) {
            Self::fork_process(app, worker);
        }
        if app.is_up() {
            self.events.push_back(AppEvent::Up(id));
        }
    }

    /// A program that may never be ready: it must not outlive its prototype.
    fn program_begun(&mut self, id: AppId, worker: WorkerId, number: u32, pidfd: Option<OwnedFd>) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let Some(prototype) = app.prototype.as_ref().map(Peer::pid) else { return };
        if !app.runs_programs() || app.workers.fork_of(worker) == ForkOrder::Unasked {
            return app.end_liar("runs a program that was not asked for");
        }
        match VerifiedChild::find(prototype, number, app.spec.isolation.namespaces.pid, pidfd) {
            Ok(process) if app.background.is_some() => self.process_begun(id, worker, number, process),
            Ok(Some(process)) => app.workers.has_begun(worker, process),
            Ok(None) => {}
            Err(error) => app.end_liar(&format!("has a program that is none of its own: {error}")),
        }
    }

    fn worker_forked(&mut self, id: AppId, mut started: StartedWorker, control: &ListenAddress) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let Some(prototype) = app.prototype.as_ref().filter(|_| !app.life.is_stopping()).map(Peer::pid)
        else {
            return; // it ends it with the others
        };
        let worker = started.worker;
        match app.workers.fork_of(worker) {
            ForkOrder::Awaited => {}
            ForkOrder::Stale => {
                app.workers.settle_fork(worker);
                app.tell(&ToPrototype::Kill { worker });
                return self.fork_next(id);
            }
            ForkOrder::Unasked => return app.end_liar("has a worker that was not asked for"),
        }
        if !started.fits(&app.spec, control) {
            return app.end_liar("has a worker that is reached in another way than it should be");
        }
        let process = match started.process(prototype, app.spec.isolation.namespaces.pid) {
            Ok(process) => process,
            Err(error) => return app.end_liar(&format!("has a worker that is none: {error}")),
        };
        let pid = process.as_ref().map_or(0, |process| process.pid().as_raw_nonzero().get().unsigned_abs());
        let number = app.number_of(worker, started.number(), process.as_ref());
        app.workers.forked(worker, process);
        app.cpu.worker_changed();
        self.records.start(&app.spec.name);
        app.strays = started.strays();
        let router = app.router.and_then(|router| self.routers.peer_mut(router));
        let Some(router) = router else { return self.fork_next(id) };
        match started.announce(id, pid, router) {
            Ok(()) => tracing::info!("\"{}\" application started, process {number}", app.spec.name),
            Err(error) => {
                app.tell(&ToPrototype::Kill { worker });
                self.worker_failed(id, &format!("take over a worker: {error:#}"));
            }
        }
        self.events.push_back(AppEvent::Decided(id));
        self.fork_next(id);
    }

    fn fork_failed(&mut self, id: AppId, worker: WorkerId, reason: &str) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        if app.workers.fork_of(worker) == ForkOrder::Unasked && !app.life.is_stopping() {
            return app.end_liar("could not start a worker that was not asked for");
        }
        if app.workers.settle_fork(worker) {
            let reason = self.with_last_words(id, reason);
            self.process_ended(id, worker, Err(&reason));
            self.worker_failed(id, &reason);
        }
        self.fork_next(id);
    }

    /// Adds what a program has said since it was started.
    fn with_last_words(&mut self, id: AppId, reason: &str) -> String {
        let Some(app) = self.apps.get(&id).filter(|app| app.runs_programs()) else {
            return reason.to_owned();
        };
        let words = self.outputs.last_words_of(id);
        match (&app.spec.stderr, words.is_empty()) {
            (_, false) => {
                let advice =
                    taken_port::advice(&words).map(|advice| format!("; {advice}")).unwrap_or_default();
                format!("{reason}; it said: {}{advice}", words.join(" | "))
            }
            (Some(file), true) => format!("{reason}; what it said is in \"{}\"", file.display()),
            (None, true) => reason.to_owned(),
        }
    }

    /// A worker that was asked for does not come: the router that waits for it is told.
    fn worker_failed(&mut self, id: AppId, reason: &str) {
        let Some(app) = self.apps.get(&id) else { return };
        // An end that was asked for is not a failure.
        let failed = (!app.life.is_stopping())
            .then(|| AppEvent::Failed(id, format!("application \"{}\": {reason}", app.spec.name)));
        self.tell_router_of(id, &ToRouter::WorkerFailed { app: id, reason: reason.to_owned() });
        self.events.extend([AppEvent::Decided(id)].into_iter().chain(failed));
    }

    fn worker_exited(&mut self, id: AppId, worker: WorkerId, exit: Exit) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        let unseen = app.unseen.remove(&worker);
        let noted = app.workers.take_cause(worker);
        // One of a router that has died was taken out before.
        let Some((process, was_told)) = app.ended(worker, Instant::now()) else {
            return;
        };
        let (is_stopping, has_share) = (app.life.is_stopping(), app.spec.limits.requests.is_some());
        let end = WorkerEnd { exit, noted, was_told, is_stopping, has_share };
        self.records.end(&app.spec.name, end.cause());
        let is_wanted = matches!(noted, Some(EndCause::Drained | EndCause::Ended));
        let pid = process.map(|process| process.pid().as_raw_nonzero().get().unsigned_abs());
        let pid = pid.or(unseen).unwrap_or_default();
        let is_run = app.background.as_ref().is_some_and(|work| !work.runs_always());
        let is_expected = was_told || is_run || is_wanted;
        let name = &app.spec.name;
        match exit {
            Exit::Code(code) => {
                if code != 0 && !is_expected {
                    self.records.crash(name, format!("process {pid} exited with code {code}"));
                }
                tracing::info!(target: "notice", "app process {pid} exited with code {code} (\"{name}\")");
            }
            // It was told to.
            Exit::Signal(_) if is_expected => tracing::debug!("app process {pid} ended (\"{name}\")"),
            Exit::Signal(number) => {
                self.records.crash(name, format!("process {pid} exited on signal {number}"));
                tracing::error!(target: "alert", "app process {pid} exited on signal {number} (\"{name}\")");
            }
        }
        self.tell_router_of(id, &ToRouter::WorkerGone { app: id, worker, exit });
        self.process_ended(id, worker, Ok(exit));
        // Another one may have waited for the place.
        self.fork_next(id);
    }

    /// A prototype was collected.
    pub(crate) fn prototype_died(&mut self, id: AppId, pid: Pid, ended: Ended, programs: &Programs) {
        let Some(app) = self.apps.get(&id) else {
            return;
        };
        let was_loading = app.life.is_loading();
        let is_expected = app.life.is_stopping() || app.life.has_failed();
        if !app.life.is_stopping() && !app.life.is_resting() {
            let reason = app.life.failure().map_or_else(|| how_ended(ended), ToOwned::to_owned);
            self.records.crash(&app.spec.name, format!("prototype {}: {reason}", pid.as_raw_nonzero()));
        }
        self.end_orphans(id);
        self.lose_work(id, "its prototype process has ended");
        let Some(app) = self.apps.get(&id) else { return };
        if app.life.is_stopping() {
            self.remove_app(id);
        } else if app.must_wake() {
            self.start_prototype(id, programs);
        } else if was_loading && !is_expected {
            let how = how_ended(ended);
            self.app_failed(id, &format!("its prototype process {how} while it was loading; see the log"));
        }
    }

    /// Ends what a prototype has left behind.
    fn end_orphans(&mut self, id: AppId) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        for program in app.workers.take_begun() {
            program.kill_group(Signal::KILL);
        }
        // A program goes with all that it has started.
        let kill_orphan = if app.runs_programs() { VerifiedChild::kill_group } else { VerifiedChild::kill };
        let router = app.router;
        let (name, is_stopping) = (app.spec.name.clone(), app.life.is_stopping());
        for (worker, process) in app.prototype_died(Instant::now()) {
            self.records.end(&name, if is_stopping { EndCause::Restart } else { EndCause::Signal });
            // They would wait for ever: no process forks beside them or hears when they end.
            let _ = process.is_some_and(|process| kill_orphan(&process, Signal::KILL));
            let exit = Exit::Signal(Signal::KILL.as_raw());
            if let Some(router) = router {
                self.tell_router(router, &ToRouter::WorkerGone { app: id, worker, exit });
            }
        }
    }
}

/// How a process has ended, in words.
pub(crate) fn how_ended(ended: Ended) -> String {
    match ended {
        Ended::Code(code) => format!("exited with code {code}"),
        Ended::Signal(number) => format!("exited on signal {number}"),
    }
}
