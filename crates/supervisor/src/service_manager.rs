//! Messages to the service manager that has started this process, if there is one: sd_notify(3).

use std::time::{Duration, Instant};

use corral_sys::signal::Pid;
use sd_notify::NotifyState;

/// Beginnings of the variables by which a service manager speaks to the one process that it has started.
pub(crate) const PREFIXES: [&str; 3] = ["NOTIFY_", "WATCHDOG_", "LISTEN_"];

/// The process that reads `NOTIFY_SOCKET`; without one nothing is said.
#[derive(Debug)]
pub(crate) struct ServiceManager {
    /// The time between signs of life: the service manager restarts a daemon that is silent for twice as long.
    interval: Option<Duration>,
    next_sign: Instant,
    /// Whether the service manager knows this process as the one that serves.
    is_ready: bool,
}

impl ServiceManager {
    /// As the environment describes it.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            interval: sd_notify::watchdog_enabled().map(|limit| limit / 2),
            next_sign: now,
            is_ready: false,
        }
    }

    /// Everything is served.
    pub(crate) fn ready(&mut self) {
        self.is_ready = true;
        tell(NotifyState::Ready);
    }

    /// The end has begun.
    pub(crate) fn stopping(&self) {
        if self.is_ready {
            tell(NotifyState::Stopping);
        }
    }

    /// Another process serves now.
    pub(crate) fn replaced_by(&self, pid: Pid) {
        tell(NotifyState::MainPid(pid.as_raw_nonzero().get().unsigned_abs()));
    }

    /// When it expects the next sign of life.
    pub(crate) fn next_sign(&self) -> Option<Instant> {
        self.interval.map(|_| self.next_sign)
    }

    /// Gives a sign of life if it is time for one.
    pub(crate) fn on_time(&mut self, now: Instant) {
        if let Some(interval) = self.interval.filter(|_| self.next_sign <= now) {
            tell(NotifyState::Watchdog);
            self.next_sign = now + interval;
        }
    }
}

fn tell(state: NotifyState<'_>) {
    let state = [state];
    if let Err(error) = sd_notify::notify(&state) {
        tracing::warn!("tell the service manager {state:?}: {error}");
    }
}
