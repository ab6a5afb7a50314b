//! Upgrading: a new main process, of an executable that may have been replaced, takes over the sockets and puts
//! the stored configuration in force; then this one finishes what it has begun.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use corral_ipc::message::{Demand, FromSuccessor, ToRouter, ToSuccessor};
use corral_sys::process;
use corral_sys::signal::Signal;

use super::stopping::Stop;
use super::takeover::LAST_REQUESTS;
use super::{Source, Supervisor};
use crate::apply::{Build, Job};
use crate::peer::Peer;
use crate::pid_file::PidFile;

/// Longest wait for requests in progress after a successor serves: downloads and WebSockets may take long, and
/// cost no more than memory.
const LONGEST_FINISH: Duration = Duration::from_secs(60 * 60);

/// A successor that does not serve by then hangs: the control API waits for it. Applications may take two minutes
/// to load.
const LONGEST_START: Duration = Duration::from_secs(3 * 60);

/// A main process that is to take over, or has.
pub(super) struct Upgrade {
    pub(super) successor: Peer,
    /// When it is killed, unless it serves.
    deadline: Instant,
    is_serving: bool,
}

impl Supervisor {
    /// SIGUSR2.
    pub(super) fn on_upgrade_signal(&mut self) {
        match self.why_no_upgrade() {
            Some(reason) => {
                tracing::info!(target: "notice", "signal USR2 received, ignored: {reason}");
                self.troubles.upgrade = Some(reason.to_owned());
            }
            None => self.jobs.push_back(Job::Upgrade),
        }
    }

    fn why_no_upgrade(&self) -> Option<&'static str> {
        if self.parts.console.is_some() {
            return Some("\"corral run\" has no successor");
        }
        if process::is_first() {
            return Some("a container ends with its first process; start another container");
        }
        (self.stop.is_some() || self.upgrade.is_some()).then_some("not now")
    }

    /// Nothing is being applied, and nothing will be until it is over: there must be one configuration.
    pub(super) fn begin_upgrade(&mut self) {
        self.troubles.upgrade = None;
        if let Err(reason) = self.store_again() {
            // The successor would put the one before in force.
            return self.upgrade_failed(format!("the current configuration is not stored: {reason}"));
        }
        let mut successor = match self.parts.launcher.start_successor() {
            Ok(successor) => successor,
            Err(error) => return self.upgrade_failed(format!("{:#}", anyhow::Error::new(error))),
        };
        let pid = successor.pid().as_raw_nonzero();
        tracing::info!(target: "notice", "signal USR2 received, process {pid} is to take over");
        let control = &self.parts.control;
        let address = control.address().clone();
        let message = match control.is_given() {
            true => ToSuccessor::GivenControl { address },
            false => ToSuccessor::Control { address },
        };
        successor.send(&message, &[control.socket().as_fd()]);
        let ours = self.in_force.iter().flat_map(|build| &build.listeners);
        for listener in ours.filter(|listener| !listener.is_given()).chain(&self.parts.given.listeners) {
            let sockets: Vec<_> = listener.sockets().iter().map(AsFd::as_fd).collect();
            let address = listener.address().clone();
            let message = match listener.is_given() {
                true => ToSuccessor::Given { address },
                false => ToSuccessor::Listener { address },
            };
            successor.send(&message, &sockets);
        }
        successor.send(&ToSuccessor::Begin { demand: self.what_works() }, &[]);
        let deadline = Instant::now() + LONGEST_START;
        self.upgrade = Some(Upgrade { successor, deadline, is_serving: false });
        // It would change a configuration that the successor has read already.
        self.controller.peer.iter().for_each(|peer| peer.kill(Signal::TERM));
    }

    /// What fails already must not keep a server from being upgraded.
    fn what_works(&self) -> Demand {
        let has_failed = |build: &Build| {
            let apps = build.apps.iter().filter_map(|(id, _)| self.apps.get(id));
            !build.unbound.is_empty()
                || !build.unserved.is_empty()
                || apps.into_iter().any(|app| app.has_failed())
        };
        if self.in_force.as_ref().is_some_and(has_failed) { Demand::WhatStarts } else { Demand::Everything }
    }

    /// Handles one message; false when there is none.
    pub(super) fn read_successor(&mut self) -> bool {
        let Some(upgrade) = &mut self.upgrade else { return false };
        match upgrade.successor.next_message() {
            // Said again, it would put off the end of this process.
            Some((FromSuccessor::Serving, _)) if upgrade.is_serving => true,
            Some((FromSuccessor::Serving, _)) => {
                upgrade.is_serving = true;
                let pid = upgrade.successor.pid().as_raw_nonzero();
                tracing::info!(target: "notice", "process {pid} serves; finishing the requests in progress");
                self.service_manager.replaced_by(upgrade.successor.pid());
                self.finish_for_successor();
                true
            }
            Some((FromSuccessor::Failed { reason }, _)) => {
                self.troubles.upgrade = Some(reason);
                true
            }
            None => false,
        }
    }

    fn finish_for_successor(&mut self) {
        self.parts.control.file().set_ours(false);
        for listener in self.in_force.iter().flat_map(|build| &build.listeners) {
            listener.file().set_ours(false);
        }
        self.parts.pid_file.take().into_iter().for_each(std::mem::forget);
        self.jobs.clear();
        self.apply = None;
        self.finish_routers(LAST_REQUESTS);
        self.stop = Some(Stop::Draining { deadline: Instant::now() + LONGEST_FINISH });
    }

    /// Tells every router to end when it has finished.
    pub(super) fn finish_routers(&mut self, keep_idle: Duration) {
        let all: Vec<_> = self.routers.iter().map(|router| router.id).collect();
        for router in all {
            self.tell_router(router, &ToRouter::Finish { keep_idle });
        }
    }

    /// Readable when the successor has ended.
    pub(super) fn successor_end(&self) -> Option<BorrowedFd<'_>> {
        self.upgrade.as_ref()?.successor.end()
    }

    /// If it never served, this process goes on as before.
    pub(super) fn successor_ended(&mut self) {
        // Its last words are still in the socket.
        self.read_last_words(Source::Successor);
        let Some(Upgrade { successor, is_serving, .. }) = self.upgrade.take() else { return };
        let pid = successor.pid().as_raw_nonzero();
        tracing::info!(target: "notice", "process {pid} has ended (successor)");
        if !is_serving {
            let reason = self.troubles.upgrade.take();
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            self.upgrade_failed(format!("the new process could not take over{reason}"));
        }
    }

    fn upgrade_failed(&mut self, reason: String) {
        tracing::error!(target: "alert", "upgrade: {reason}; this process goes on");
        self.troubles.upgrade = Some(reason);
    }

    /// One that serves is not this process's to end.
    pub(super) fn unready_successor(&self) -> Option<&Peer> {
        self.upgrade.as_ref().filter(|upgrade| !upgrade.is_serving).map(|upgrade| &upgrade.successor)
    }

    pub(super) fn upgrade_deadline(&self) -> Option<Instant> {
        self.upgrade.as_ref().filter(|upgrade| !upgrade.is_serving).map(|upgrade| upgrade.deadline)
    }

    pub(super) fn upgrade_on_time(&self, now: Instant) {
        if self.upgrade_deadline().is_some_and(|at| at <= now) {
            self.unready_successor().into_iter().for_each(|successor| successor.kill(Signal::KILL));
        }
    }

    /// This process serves what its predecessor did: takes over the rest as well.
    pub(super) fn relieve_predecessor(&mut self) {
        if self.parts.predecessor.is_some() && self.stored.is_some() && self.in_force.is_none() {
            return self.give_up("the stored configuration cannot be put in force");
        }
        let Some(mut predecessor) = self.parts.predecessor.take() else { return };
        self.parts.control.file().set_ours(true);
        for listener in self.in_force.iter().flat_map(|build| &build.listeners) {
            listener.file().set_ours(true);
        }
        self.parts.pid_file = predecessor.pid_file.take().and_then(|path| {
            PidFile::write(path).inspect_err(|error| tracing::error!(target: "alert", "{error:#}")).ok()
        });
        predecessor.relieve();
    }
}
