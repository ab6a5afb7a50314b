//! The end; log rotation.

use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Instant;

use corral_ipc::message::ToRouter;
use corral_sys::process;

use super::Supervisor;
use super::effects::are_left;
use crate::access_log::AccessLogFile;
use crate::decide::stop::StopEvent;

impl Supervisor {
    pub(super) fn on_stop_signal(&mut self, number: i32) {
        self.stop_on(StopEvent::Signal(number), Instant::now());
    }

    /// `corral run` ends when its site cannot be served, as does a process that cannot take over.
    pub(super) fn give_up(&mut self, reason: &str) {
        self.audience.give_up(reason, self.inheritance.predecessor.as_ref());
        self.stopping.fails();
        self.stop_on(StopEvent::GivenUp, Instant::now());
    }

    /// Whether nothing is left to wait for.
    pub(super) fn is_over(&self) -> bool {
        let Self { stopping, children, upgrade, .. } = self;
        stopping.is_final() && !are_left(children, upgrade) && process::children().is_empty()
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
