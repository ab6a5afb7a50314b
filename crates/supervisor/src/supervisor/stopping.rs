//! The end; log rotation.

use std::os::fd::AsFd;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use corral_ipc::message::ToRouter;
use corral_sys::process;

use super::Supervisor;
use crate::access_log::AccessLogFile;
use crate::decide::background::Background;
use crate::decide::stop::{self, Left, Stop, StopStep};

impl Supervisor {
    pub(super) fn on_stop_signal(&mut self, number: i32) {
        let step = stop::on_signal(self.stop, number);
        step.into_iter().for_each(|step| self.take_stop_step(step));
    }

    pub(super) fn stop_on_time(&mut self, stop: Stop, now: Instant) {
        // A successor lets runs go on to their end.
        let has_runs = self.upgrade.goes_on() && self.children.has_background(Background::is_leaving);
        let routers = has_runs || self.children.routers.peers().next().is_some();
        let step = stop.on_time(Left { routers, children: !self.has_no_own_children() }, now);
        step.into_iter().for_each(|step| self.take_stop_step(step));
    }

    fn take_stop_step(&mut self, step: StopStep) {
        match step {
            StopStep::Drain => self.drain(),
            StopStep::EndAll => self.end_all(),
            StopStep::KillAll => {
                self.stop = Some(Stop::Killed);
                self.kill_all();
            }
            StopStep::KillOrphans => self.kill_all(),
        }
    }

    fn drain(&mut self) {
        if self.children.routers.in_charge.role.peer.is_none() {
            return self.end_all();
        }
        tracing::info!(target: "notice", "stopping when the requests in progress are done");
        self.audience.service_manager.stopping();
        self.children.tell_routers(&ToRouter::Finish { keep_idle: Duration::ZERO });
        self.stop = Some(Stop::draining(Instant::now()));
        self.leave_background();
    }

    fn end_all(&mut self) {
        if self.stop.is_none() {
            self.audience.service_manager.stopping();
        }
        self.stop = Some(Stop::ending(self.children.longest_grace(), Instant::now()));
        self.configuration.end();
        self.upgrade.end_unready();
        self.children.end_all();
    }

    fn kill_all(&self) {
        self.children.kill_all();
        self.upgrade.kill_unready();
    }

    /// `corral run` ends when its site cannot be served, as does a process that cannot take over.
    pub(super) fn give_up(&mut self, reason: &str) {
        self.audience.give_up(reason, self.inheritance.predecessor.as_ref());
        self.exit_code = ExitCode::FAILURE;
        self.end_all();
    }

    fn has_no_own_children(&self) -> bool {
        self.children.is_empty() && self.upgrade.unready().is_none()
    }

    /// Whether nothing is left to wait for.
    pub(super) fn is_over(&self) -> bool {
        let is_ending = self.stop.is_some_and(Stop::is_final);
        is_ending && self.has_no_own_children() && process::children().is_empty()
    }

    /// SIGUSR1: the files were moved away, new ones take their place.
    pub(super) fn reopen_logs(&mut self) {
        self.audience.reopen_log();
        self.reopen_access_logs();
        tracing::info!(target: "notice", "signal USR1 received, log files reopened");
    }

    /// One that cannot be opened goes on where it is.
    fn reopen_access_logs(&mut self) {
        let configuration = &mut self.configuration;
        let Some(build) = configuration.in_force.as_mut() else {
            return;
        };
        for (idx, log) in (0..).zip(&mut build.access_logs) {
            match AccessLogFile::open(log.path()) {
                Ok(reopened) => *log = Rc::new(reopened),
                Err(error) => {
                    tracing::error!(target: "alert", "reopen: {error}");
                    continue;
                }
            }
            if let Some(router) = &mut self.children.routers.in_charge.role.peer {
                let message = ToRouter::AccessLog { generation: build.generation, log: idx };
                router.send(&message, &[log.as_fd()]);
            }
            // A build that is going to take its place has the same file.
            let next = configuration.apply.iter_mut().flat_map(|apply| &mut apply.build.access_logs);
            for next in next.filter(|next| next.path() == log.path()) {
                *next = Rc::clone(log);
            }
        }
    }
}
