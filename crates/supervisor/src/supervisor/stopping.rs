//! The end; log rotation.

use std::os::fd::AsFd;
use std::time::Instant;

use corral_ipc::message::ToRouter;
use corral_sys::process;

use super::Supervisor;
use super::effects::are_left;
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
        for (generation, log, file) in self.configuration.reopen_access_logs() {
            if let Some(router) = &mut self.children.routers.in_charge.role.peer {
                router.send(&ToRouter::AccessLog { generation, log }, &[file.as_fd()]);
            }
        }
        tracing::info!(target: "notice", "signal USR1 received, log files reopened");
    }
}
