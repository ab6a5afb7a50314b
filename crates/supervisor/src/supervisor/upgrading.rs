//! Upgrading: a new main process, of an executable that may have been replaced, takes over the sockets and puts
//! the stored configuration in force; then this one finishes what it has begun.
//!
//! The successor is a sibling, never a child: each main process ends all its children when it ends, and knows of the
//! other's end by a pidfd. It has a controller, a router and prototypes of its own, and its first configuration finds
//! its listeners bound. The old controller is ended first, since there must be one configuration. Once the new one is
//! in force the successor owns the files of the sockets and the pid file and says `Serving`, and the old routers
//! finish. A successor that ends before that changes nothing. The first process of a container cannot be replaced: the
//! container would end with it.

use std::time::Instant;

use corral_ipc::message::StartPolicy;
use corral_sys::process;
use corral_sys::signal::{Pid, Signal};

use super::{Source, Supervisor};
use crate::configuration::build::Build;
use crate::configuration::jobs::Job;
use crate::decide::stop::StopEvent;
use crate::upgrade::Heard;

impl Supervisor {
    /// SIGUSR2.
    pub(super) fn on_upgrade_signal(&mut self) {
        match self.why_no_upgrade() {
            Some(reason) => {
                tracing::info!(target: "notice", "signal USR2 received, ignored: {reason}");
                self.upgrade.trouble = Some(reason.to_owned());
            }
            None => {
                // What is known of one before would be taken for this one's while it waits.
                self.upgrade.trouble = None;
                self.configuration.jobs.push(Job::Upgrade);
            }
        }
    }

    fn why_no_upgrade(&self) -> Option<&'static str> {
        if self.audience.console.is_some() {
            return Some("\"corral run\" has no successor");
        }
        if process::is_first() {
            return Some("a container ends with its first process; start another container");
        }
        (self.stopping.has_begun() || self.upgrade.goes_on()).then_some("not now")
    }

    /// Nothing is being applied, and nothing will be until it is over: there must be one configuration.
    pub(super) fn begin_upgrade(&mut self) {
        if let Err(reason) = self.store_again() {
            // The successor would put the one before in force.
            return self.upgrade.failed(format!("the current configuration is not stored: {reason}"));
        }
        let mut successor = match self.programs.launcher.start_successor() {
            Ok(successor) => successor,
            Err(error) => return self.upgrade.failed(format!("{:#}", anyhow::Error::new(error))),
        };
        let pid = successor.pid().as_raw_nonzero();
        tracing::info!(target: "notice", "signal USR2 received, process {pid} is to take over");
        let listeners = self.configuration.in_force.as_ref().map_or(&[][..], |build| &build.listeners);
        let has_background = self.children.has_background(|_| true);
        self.inheritance.hand_over(listeners, self.what_works(), has_background, &mut successor);
        self.upgrade.begin(successor);
        // It would change a configuration that the successor has read already.
        self.children.controller.peer.iter().for_each(|peer| peer.kill(Signal::TERM));
    }

    /// How much has to work in a successor: what fails already must not keep a server from being upgraded.
    fn what_works(&self) -> StartPolicy {
        let has_failed = |build: &Build| {
            let mut apps = build.apps.iter().filter_map(|(id, _)| self.children.apps.get(id));
            !build.unbound.is_empty() || !build.unserved.is_empty() || apps.any(|app| app.life.has_failed())
        };
        let in_force = self.configuration.in_force.as_ref();
        if in_force.is_some_and(has_failed) { StartPolicy::WhatStarts } else { StartPolicy::Everything }
    }

    /// Handles one message; false when there is none.
    pub(super) fn read_successor(&mut self) -> bool {
        match self.upgrade.hear() {
            Heard::Nothing => return false,
            Heard::Word => {}
            Heard::Serving(pid) => self.finish_for(pid),
        }
        true
    }

    /// The successor serves.
    fn finish_for(&mut self, successor: Pid) {
        let pid = successor.as_raw_nonzero();
        tracing::info!(target: "notice", "process {pid} serves; finishing the requests in progress");
        self.audience.service_manager.replaced_by(successor);
        let listeners = self.configuration.in_force.as_ref().map_or(&[][..], |build| &build.listeners);
        self.inheritance.let_go(listeners);
        self.configuration.jobs.clear();
        self.configuration.apply = None;
        self.stop_on(StopEvent::Replaced, Instant::now());
    }

    pub(super) fn successor_ended(&mut self) {
        // Its last words are still in the socket.
        self.read_last_words(Source::Successor);
        self.upgrade.ended();
    }

    /// This process serves what its predecessor did: takes over the rest as well.
    pub(super) fn relieve_predecessor(&mut self) {
        let in_force = self.configuration.in_force.as_ref();
        let is_lost = self.stored.document.is_some() && in_force.is_none();
        if self.inheritance.predecessor.is_some() && is_lost {
            return self.give_up("the stored configuration cannot be put in force");
        }
        self.inheritance.take_over(in_force.map_or(&[], |build| &build.listeners));
        self.release_background();
    }
}
