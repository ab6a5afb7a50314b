//! The end; log rotation.

use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use corral_ipc::message::ToRouter;
use corral_sys::process;
use corral_sys::signal::{self, Signal};

use super::Supervisor;
use crate::access_log::AccessLog;

/// How far the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The router finishes what is in progress.
    Draining { deadline: Instant },
    /// All were told to end.
    Ending { deadline: Instant },
    /// All were killed.
    Killed,
}

impl Stop {
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Draining { deadline } | Self::Ending { deadline } => Some(*deadline),
            Self::Killed => None,
        }
    }
}

/// Longest wait for requests in progress after SIGQUIT.
const LONGEST_DRAIN: Duration = Duration::from_secs(60);

/// Longest wait for processes that were told to end.
const LONGEST_END: Duration = Duration::from_secs(5);

impl Supervisor {
    /// SIGQUIT drains, SIGTERM and SIGINT do not. A second signal is for the impatient.
    pub(super) fn on_stop_signal(&mut self, number: i32) {
        match self.stop {
            None if number == Signal::QUIT.as_raw() => self.drain(),
            None | Some(Stop::Draining { .. }) => self.end_all(),
            Some(Stop::Ending { .. }) => self.kill_all(),
            Some(Stop::Killed) => {}
        }
    }

    fn drain(&mut self) {
        if self.routers.in_charge.role.peer.is_none() {
            return self.end_all();
        }
        tracing::info!(target: "notice", "stopping when the requests in progress are done");
        self.service_manager.stopping();
        self.finish_routers(Duration::ZERO);
        self.stop = Some(Stop::Draining { deadline: Instant::now() + LONGEST_DRAIN });
    }

    pub(super) fn end_all(&mut self) {
        if self.stop.is_none() {
            self.service_manager.stopping();
        }
        self.stop = Some(Stop::Ending { deadline: Instant::now() + LONGEST_END });
        self.jobs.clear();
        // Closes the listeners and removes socket files: who connected now would not be served.
        self.apply = None;
        self.in_force = None;
        self.own_peers().for_each(|peer| peer.kill(Signal::TERM));
        let apps: Vec<_> = self.apps.keys().copied().collect();
        apps.into_iter().for_each(|id| self.stop_app(id));
    }

    fn kill_all(&mut self) {
        self.stop = Some(Stop::Killed);
        self.kill_children();
    }

    /// Kills every child, those among them that applications left behind. No main process is another one's child.
    fn kill_children(&self) {
        for child in process::children() {
            signal::kill_child(child, Signal::KILL);
        }
        self.own_peers().chain(self.prototypes()).for_each(|peer| peer.kill(Signal::KILL));
    }

    pub(super) fn stop_on_time(&mut self, now: Instant) {
        match self.stop {
            Some(Stop::Draining { deadline }) if deadline <= now || self.routers.peers().next().is_none() => {
                self.end_all();
            }
            Some(Stop::Ending { deadline }) if deadline <= now => self.kill_all(),
            // What is left now are orphans: processes that applications started.
            Some(Stop::Ending { .. } | Stop::Killed) if self.has_no_own_children() => self.kill_children(),
            _ => {}
        }
    }

    fn has_no_own_children(&self) -> bool {
        self.own_peers().next().is_none() && self.apps.is_empty()
    }

    /// Whether nothing is left to wait for.
    pub(super) fn is_over(&self) -> bool {
        let is_ending = matches!(self.stop, Some(Stop::Ending { .. } | Stop::Killed));
        is_ending && self.has_no_own_children() && process::children().is_empty()
    }

    /// SIGUSR1: the files were moved away, new ones take their place.
    pub(super) fn reopen_logs(&mut self) {
        if let Some(log) = &self.parts.log
            && let Err(error) = log.reopen()
        {
            tracing::error!(target: "alert", "reopen the log: {error:#}");
        }
        self.reopen_access_logs();
        tracing::info!(target: "notice", "signal USR1 received, log files reopened");
    }

    /// One that cannot be opened goes on where it is.
    fn reopen_access_logs(&mut self) {
        let Some(build) = self.in_force.as_mut() else {
            return;
        };
        for (idx, log) in (0..).zip(&mut build.access_logs) {
            match AccessLog::open(log.path()) {
                Ok(reopened) => *log = Rc::new(reopened),
                Err(error) => {
                    tracing::error!(target: "alert", "reopen: {error}");
                    continue;
                }
            }
            if let Some(router) = &mut self.routers.in_charge.role.peer {
                let message = ToRouter::AccessLog { generation: build.generation, log: idx };
                router.send(&message, &[log.as_fd()]);
            }
            // A build that is going to take its place has the same file.
            let next = self.apply.iter_mut().flat_map(|apply| &mut apply.build.access_logs);
            for next in next.filter(|next| next.path() == log.path()) {
                *next = Rc::clone(log);
            }
        }
    }
}
