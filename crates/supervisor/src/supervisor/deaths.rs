//! Children that have ended: who it was, and what follows.

use std::time::{Duration, Instant};

use corral_ipc::message::{AppId, Exit, ToRouter};
use corral_sys::kin::Kin;
use corral_sys::signal::{Change, Ended, Pid, Signal};

use super::{Source, Supervisor};
use crate::app::{App, Phase};
use crate::role::Role;

impl Supervisor {
    /// Something has become of a child.
    pub(super) fn on_change(&mut self, pid: Pid, change: Change) {
        let Some(source) = self.source_of(pid) else {
            return; // a worker whose prototype died, or a process that an application left behind
        };
        match change {
            Change::Ended(ended) => self.on_death(source, pid, ended),
            Change::Stopped | Change::Continued => {
                if let Some(peer) = self.peer_mut(source) {
                    peer.set_stopped(change == Change::Stopped);
                }
            }
        }
    }

    fn source_of(&self, pid: Pid) -> Option<Source> {
        let routers = self.routers.iter().map(|router| Source::Router(router.id));
        [Source::Controller, Source::Reader]
            .into_iter()
            .chain(routers)
            .chain(self.apps.keys().copied().map(Source::Prototype))
            .find(|source| self.peer(*source).is_some_and(|peer| peer.pid() == pid))
    }

    /// What a process that has ended has said is still in the socket, which has room for fewer. Others may have its end and
    /// go on.
    pub(super) fn read_last_words(&mut self, source: Source) {
        self.read_messages(source, MOST_LAST_WORDS, LONGEST_LAST_WORDS);
    }

    /// A child was collected.
    fn on_death(&mut self, source: Source, pid: Pid, ended: Ended) {
        self.read_last_words(source);
        match source {
            Source::Controller => {
                self.forget_controller();
                self.log_role_death(&self.controller, pid, ended);
            }
            Source::Router(id) if id == self.routers.in_charge.id => {
                self.forget_router(id);
                self.log_role_death(&self.routers.in_charge.role, pid, ended);
            }
            Source::Router(id) => {
                self.log_death("router", pid, ended, "");
                self.forget_router(id);
            }
            Source::Reader => {
                self.forget_reader();
                self.log_role_death(&self.reader, pid, ended);
            }
            Source::Prototype(id) => self.prototype_died(id, pid, ended),
            Source::Signals | Source::Successor | Source::SuccessorEnd | Source::Tree | Source::Output(_) => {
            }
        }
    }

    /// Of one that is started again; the line says how often that was.
    fn log_role_death(&self, role: &Role, pid: Pid, ended: Ended) {
        let record = if self.stop.is_none() { role.backoff.describe(Instant::now()) } else { String::new() };
        self.log_death(role.name, pid, ended, &record);
    }

    fn log_death(&self, name: &str, pid: Pid, ended: Ended, record: &str) {
        let pid = pid.as_raw_nonzero();
        let is_expected = self.stop.is_some() || ended == Ended::Code(0);
        let how = how_ended(ended);
        if is_expected {
            tracing::info!(target: "notice", "process {pid} {how} ({name}){record}");
        } else {
            tracing::error!(target: "alert", "process {pid} {how} ({name}){record}");
        }
    }

    fn prototype_died(&mut self, id: AppId, pid: Pid, ended: Ended) {
        let Some(app) = self.apps.get_mut(&id) else {
            return;
        };
        if !app.is_stopping() && !app.is_resting() {
            let reason = app.failure().map_or_else(|| how_ended(ended), ToOwned::to_owned);
            app.crashes.count(format!("prototype {}: {reason}", pid.as_raw_nonzero()));
        }
        let was_loading = matches!(app.phase, Phase::Loading { .. });
        let is_expected = app.is_stopping() || app.has_failed();
        let name = format!("prototype of \"{}\"", app.spec.name);
        // A program goes with all that it has started.
        let kill_orphan = if app.runs_programs() { Kin::kill_group } else { Kin::kill };
        for program in app.take_begun() {
            program.kill_group(Signal::KILL);
        }
        let orphans = app.prototype_died(Instant::now());
        let (is_stopping, router) = (app.is_stopping(), app.router);
        self.log_death(&name, pid, ended, "");
        for (worker, process) in orphans {
            // They would wait for ever: nobody forks beside them or hears when they end.
            let _ = process.is_some_and(|process| kill_orphan(&process, Signal::KILL));
            let exit = Exit::Signal(Signal::KILL.as_raw());
            self.tell_router(router, &ToRouter::WorkerGone { app: id, worker, exit });
        }
        if is_stopping {
            self.remove_app(id);
        } else if self.apps.get(&id).is_some_and(App::must_wake) {
            self.start_prototype(id);
        } else if was_loading && !is_expected {
            let how = how_ended(ended);
            self.app_failed(id, &format!("its prototype process {how} while it was loading; see the log"));
        }
    }
}

/// Messages that fit in a socket, and some.
const MOST_LAST_WORDS: usize = 1024;

/// They are read in less, but on a machine that is very busy.
const LONGEST_LAST_WORDS: Duration = Duration::from_secs(1);

fn how_ended(ended: Ended) -> String {
    match ended {
        Ended::Code(code) => format!("exited with code {code}"),
        Ended::Signal(number) => format!("exited on signal {number}"),
    }
}
