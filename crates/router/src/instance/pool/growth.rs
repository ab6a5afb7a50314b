//! When an application with `"processes": "auto"` gets one more worker: when a request has waited for some time,
//! and one more would get something done.
//!
//! One more does so while fewer workers than there are processors want one. A worker that sleeps in the middle
//! of a request (for a database, say) wants none; one that computes does, and a further one would only take
//! turns with it. One that computes for long does not count either: short requests shall not wait for it.
//!
//! The caller reads outside of the lock what the system says about workers, hence the two steps.
//!
//! Event loops say that requests wait, and the control thread then looks every 5 ms until none does. It reads `/proc`
//! outside of the pool's lock. While nothing waits, nothing looks.

use std::time::{Duration, Instant};

use corral_config::plan::PoolGrowth;
use corral_ipc::message::WorkerId;

use super::Pool;
use super::port::PoolPort;
use super::worker::PoolWorker;

/// How long after a request began to wait, and then how often, it is looked at.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

/// A shorter wait costs less than a worker.
const WAIT: Duration = Duration::from_millis(5);

/// A request that runs for longer holds up others, whatever it does.
const LONG: Duration = Duration::from_millis(100);

/// Looks, one after the other, that have to say the same: one may find a script that sleeps for a moment.
const N_LOOKS: u32 = 2;

impl<P: PoolPort> Pool<P> {
    /// Whether requests wait and have to be looked after.
    pub(crate) fn needs_look(&self) -> bool {
        self.processes.growth == PoolGrowth::ByWaiting
            && self.idle.is_empty()
            && !(self.queue.is_empty() && self.ahead.is_empty())
    }

    /// The first step: the workers of which has to be known whether they sleep. `None` when no look is needed until
    /// more requests come.
    pub(crate) fn survey(&mut self, now: Instant) -> Option<Vec<(WorkerId, u32)>> {
        let running: Vec<_> = self.workers.iter_mut().filter_map(|(_, worker)| worker.survey(now)).collect();
        if !self.needs_look() {
            self.n_looks = 0;
            return None;
        }
        Some(if self.is_late(now) { running } else { Vec::new() })
    }

    /// The second step, with those of the workers that sleep: whether to start one more, which counts as
    /// starting from then on.
    pub(crate) fn grow(&mut self, asleep: &[WorkerId], now: Instant) -> bool {
        self.now = now;
        if self.n_starting > 0 || !self.may_start() {
            return false;
        }
        let helps = self.is_late(now) && self.has_room() && self.has_processors(asleep, now);
        self.n_looks = if helps { self.n_looks + 1 } else { 0 };
        let grows = self.n_looks >= N_LOOKS;
        if grows {
            self.n_looks = 0;
            self.n_starting += 1;
        }
        grows
    }

    fn has_room(&self) -> bool {
        self.idle.is_empty()
            && self.n_running() < self.processes.max.get()
            && self.n_held < self.bounds.in_progress
    }

    /// Whether fewer workers than there are processors want one.
    fn has_processors(&mut self, asleep: &[WorkerId], now: Instant) -> bool {
        let workers = self.workers.iter_mut().filter(|(_, worker)| !worker.leaving);
        let wanting = workers
            .filter_map(|(_, worker)| (!asleep.contains(&worker.id)).then(|| worker.time_of_running(now)))
            .filter(|elapsed| elapsed.is_none_or(|elapsed| elapsed < LONG));
        wanting.count() < self.n_processors
    }

    /// Whether a request has waited for too long.
    fn is_late(&self, now: Instant) -> bool {
        let queued = self.queue.front().map(|request| request.arrived);
        let ahead = self.ahead.iter().find_map(|&(holder, lane, id)| {
            let worker = self.workers.get(holder)?;
            let held =
                &worker.held[worker.position(lane, id).filter(|&position| position >= self.n_at_once())?];
            Some(held.request.arrived)
        });
        queued.into_iter().chain(ahead).any(|arrived| now.saturating_duration_since(arrived) >= WAIT)
    }
}

impl<P: PoolPort> PoolWorker<P> {
    /// The worker's process, if it runs a request and does not wait for the router meanwhile.
    fn survey(&mut self, now: Instant) -> Option<(WorkerId, u32)> {
        self.time_of_running(now)?;
        (!self.port.is_waiting()).then_some((self.id, self.pid))
    }
}
