//! Signals, and what each of them asks for.

use std::os::fd::AsFd;
use std::time::Instant;

use corral_ipc::message::{ToReader, ToRouter};
use corral_sys::process;
use corral_sys::signal::{self, Signal};

use super::Supervisor;
use crate::decide::stop::StopEvent;
use crate::decide::upgrade::{Circumstances, UpgradeEvent};

impl Supervisor {
    pub(super) fn on_signals(&mut self) {
        // An error here is a broken kernel interface: the next turn tries again.
        while let Ok(Some(number)) = self.signals.next_signal() {
            self.on_signal(number);
        }
    }

    fn on_signal(&mut self, number: i32) {
        match number {
            _ if number == Signal::CHILD.as_raw() => {
                for (pid, change) in signal::changes() {
                    self.on_change(pid, change);
                    self.hear_news();
                }
            }
            _ if number == Signal::USR1.as_raw() => self.reopen_logs(),
            _ if number == Signal::USR2.as_raw() => self.on_upgrade_signal(),
            _ if number == Signal::HUP.as_raw() => self.on_hangup(),
            _ => self.on_stop_signal(number),
        }
    }

    /// SIGUSR1: the files were moved away, new ones take their place.
    fn reopen_logs(&mut self) {
        self.audience.reopen_log();
        for (generation, log, file) in self.configuration.reopen_access_logs() {
            if let Some(router) = &mut self.children.routers.in_charge.role.peer {
                router.send(&ToRouter::AccessLog { generation, log }, &[file.as_fd()]);
            }
        }
        tracing::info!(target: "notice", "signal USR1 received, log files reopened");
    }

    /// SIGUSR2.
    fn on_upgrade_signal(&mut self) {
        let circumstances = Circumstances {
            has_console: self.audience.console.is_some(),
            is_first: process::is_first(),
            is_stopping: self.stopping.has_begun(),
        };
        self.upgrade_on(UpgradeEvent::Asked(circumstances), Instant::now());
    }

    /// SIGHUP: what a terminal says when it is closed, and otherwise a request to read the files again.
    fn on_hangup(&mut self) {
        if self.audience.terminal.has_hung_up() {
            return self.on_stop_signal(Signal::TERM.as_raw());
        }
        if self.children.reader.peer.is_some() {
            tracing::info!(target: "notice", "signal HUP received, reading the configuration files");
            self.children.reader.send(&ToReader::Read);
        } else if !self.files.are_used() {
            // A new reader would read them anyway.
            tracing::info!(target: "notice", "signal HUP received, ignored");
        }
    }

    pub(super) fn on_stop_signal(&mut self, number: i32) {
        self.stop_on(StopEvent::Signal(number), Instant::now());
    }
}
