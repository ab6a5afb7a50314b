//! Bounds of the configuration on how many requests an application has at once, and on how long each runs.

use std::time::Duration;

use corral_config::plan::{Limits, MemoryBounds, Processes, WorkerConcurrency};

use super::port::PoolPort;
use super::verdict::{Finding, WorkerVerdict};
use super::worker::{HeldRequest, PoolWorker};

/// How long a worker may take to end a request itself.
const GRACE: Duration = Duration::from_secs(1);

/// Bounds on the requests of a pool.
#[derive(Debug, Clone)]
pub(crate) struct PoolBounds {
    /// Requests that each worker runs at once.
    pub(super) concurrency: WorkerConcurrency,
    /// Most requests that workers have.
    pub(super) in_progress: usize,
    /// Most requests that workers have or that wait.
    pub(super) active: usize,
    pub(super) slow: Option<Duration>,
    pub(super) kill_after: Option<Duration>,
    pub(super) memory: MemoryBounds,
}

impl PoolBounds {
    /// Requests wait only when all workers that there may be are busy, so the bound on those that wait is
    /// counted from there: otherwise none could wait for the first worker of an application that keeps none.
    pub(crate) fn new(limits: &Limits, processes: &Processes, concurrency: WorkerConcurrency) -> Self {
        let in_progress = limits.concurrency.map_or(usize::MAX, |concurrency| concurrency.get() as usize);
        let n_at_once = (processes.max.get() as usize).saturating_mul(concurrency.n.get() as usize);
        let n_places = in_progress.min(n_at_once);
        let active = limits.queue.map_or(usize::MAX, |queue| n_places.saturating_add(queue as usize));
        let Limits { slow, kill_after, memory, .. } = *limits;
        Self { concurrency, in_progress, active, slow, kill_after, memory }
    }

    /// For workers that have little else to do while they run a request. One with an event loop would lose all others.
    pub(crate) fn end_at_last(&mut self, limits: &Limits) {
        self.kill_after = self.kill_after.or(limits.kill_at_last);
    }

    /// For workers that end a request themselves: one is killed only when it has failed to.
    pub(crate) fn leave_time(&mut self) {
        self.kill_after = self.kill_after.map(|limit| limit.saturating_add(GRACE));
    }

    /// The finding about a request that has ended after so many microseconds, if it was slow.
    pub(super) fn was_slow<P: PoolPort>(
        &self,
        worker: &PoolWorker<P>,
        held: &HeldRequest,
        run_time: u32,
    ) -> Option<Finding> {
        let elapsed = Duration::from_micros(run_time.into());
        if held.reported || held.is_timeless || elapsed < self.slow? {
            return None;
        }
        // Once it has begun another one, it speaks of that.
        let note = if worker.held.is_empty() { worker.port.note() } else { Vec::new() };
        Some(worker.found(WorkerVerdict::WasSlow(elapsed), Some(held), note))
    }
}

#[cfg(test)]
mod tests {
    use corral_config::plan::PoolGrowth;

    use super::*;

    #[test]
    fn only_what_has_little_else_to_do_ends_at_last() {
        let one = std::num::NonZeroU32::MIN;
        let processes =
            Processes { max: one, spare: 1, idle_timeout: Duration::ZERO, growth: PoolGrowth::ByRequests };
        let of =
            |limits: &Limits| PoolBounds::new(limits, &processes, WorkerConcurrency { n: one, ahead: false });
        let limits = Limits::default();
        assert_eq!(of(&limits).kill_after, None);
        let mut bounds = of(&limits);
        bounds.end_at_last(&limits);
        assert_eq!(bounds.kill_after, Some(Duration::from_hours(24)));
        let limits = Limits { kill_after: Some(GRACE), kill_at_last: None, ..limits };
        let mut bounds = of(&limits);
        bounds.end_at_last(&limits);
        assert_eq!(bounds.kill_after, Some(GRACE));
    }
}
