//! Upkeep of an instance by the control thread, regularly and for the status.

use std::time::Instant;

use corral_config::plan::MemoryBounds;
use corral_ipc::message::{AppStatus, WaitingFigures};
use corral_sys::usage::ProcessUsage;

use super::app::AppInstance;
use super::pool::usage;
use crate::control_waker;

impl AppInstance {
    /// Regular work: spare workers retire, missing ones are asked for.
    pub(crate) fn tick(&self, now: Instant) {
        self.overload.report(&self.spec.name);
        let want_worker = {
            let mut pool = self.pool.lock();
            pool.retire_idle(now);
            pool.want_worker()
        };
        if !self.is_watched() {
            // For what has run since yesterday, once a second is often enough.
            self.watch(now);
        }
        self.wake_workers();
        if want_worker {
            self.start_worker();
        }
    }

    /// Whether `tick` and `watch` have something to do regularly.
    pub(crate) fn is_busy(&self) -> bool {
        // What its workers do without a request may take memory.
        self.spec.limits.memory != MemoryBounds::default()
            || !self.overload.is_empty()
            || self.pool.lock().is_busy()
    }

    /// When `tick` has something to do, if nothing happens before.
    pub(crate) fn next_retirement(&self) -> Option<Instant> {
        self.pool.lock().next_retirement()
    }

    /// Whether an idle worker is to leave before it would be looked after.
    pub(crate) fn is_impatient(&self) -> bool {
        self.spec.processes.idle_timeout < control_waker::INTERVAL
    }

    pub(crate) fn status(&self) -> AppStatus {
        let (figures, usage) = {
            let pool = self.pool.lock();
            (pool.figures(), pool.usage())
        };
        let requests = self.request_counts.sum();
        AppStatus {
            name: self.spec.name.clone(),
            running: figures.running,
            starting: figures.starting,
            idle: figures.idle,
            leaving: figures.leaving,
            active_requests: figures.active_requests,
            requests: requests.by_status,
            durations: requests.durations,
            waiting: WaitingFigures {
                waiting: figures.waiting,
                durations: requests.waits,
                refused: requests.refused,
            },
            memory: usage.anonymous,
            resident: usage.resident,
            cpu: usage.cpu,
            last_error: self.last_error.lock().clone(),
            left_state: self.left_state.figures(),
            ..AppStatus::default()
        }
    }

    /// Looks at the resources that up to so many workers use; returns how many those were. Asks the system outside of
    /// the lock: event loops need that.
    pub(crate) fn measure(&self, most: usize) -> usize {
        let looks = self.pool.lock().looks();
        let looks = usage::oldest(looks, most);
        let seen = looks.iter().filter_map(|look| Some((look.worker, ProcessUsage::of(look.pid)?)));
        let seen: Vec<_> = seen.collect();
        self.pool.lock().note_usage(&seen, Instant::now());
        looks.len()
    }

    /// Whether its workers have no request, and none is on its way to them.
    pub(crate) fn is_quiet(&self) -> bool {
        self.pool.lock().n_active() == 0
    }
}
