//! How many workers there are: when `main` is asked for one more, when one is told to quit, and what becomes of
//! requests when none comes.

use std::time::{Duration, Instant};

use corral_config::plan::PoolGrowth;
use corral_ipc::message::{EndCause, WorkerId};

use super::Pool;
use super::pool_request::PoolRequest;
use super::port::PoolPort;

/// Between one worker and the next that leave where requests that wait decide how many there are: they may be needed
/// again soon.
const PAUSE: Duration = Duration::from_secs(1);

impl<P: PoolPort> Pool<P> {
    /// Whether `main` should start one more worker; counts it as starting when so.
    pub(crate) fn want_worker(&mut self) -> bool {
        let want = self.lacks_worker() && self.may_start();
        if want {
            self.n_starting += 1;
        }
        want
    }

    /// Whether there are too few workers, and may be more.
    fn lacks_worker(&self) -> bool {
        let running = self.n_running();
        let max = self.processes.max.get();
        if running + self.n_starting >= max || self.n_starting >= self.processes.spare.max(1) {
            return false;
        }
        let n_active = self.n_active().min(self.bounds.in_progress);
        match self.processes.growth {
            PoolGrowth::ByRequests => {
                n_active > (running + self.n_starting) as usize * self.n_at_once()
                    || self.n_idle_soon() < self.processes.spare.min(max)
            }
            // Further ones are `grow`'s business.
            PoolGrowth::ByWaiting => {
                running + self.n_starting < self.processes.spare.max(n_active.min(1) as u32)
            }
        }
    }

    /// Workers that have nothing to do, or will have nothing once they are there.
    fn n_idle_soon(&self) -> u32 {
        let arriving = self.workers.iter().filter(|(_, worker)| worker.is_arriving());
        self.idle.len() as u32 + self.n_starting + arriving.count() as u32
    }

    /// Whether it has to be looked after regularly.
    pub(crate) fn is_busy(&self) -> bool {
        self.n_active() > 0 || !self.touched.is_empty() || self.lacks_worker()
    }

    /// When a worker is to leave, if nothing happens before.
    pub(crate) fn next_retirement(&self) -> Option<Instant> {
        let longest = self.idle.first().filter(|_| self.has_too_many())?;
        let due = self.workers[*longest].idle_since + self.processes.idle_timeout;
        Some(match self.processes.growth {
            PoolGrowth::ByRequests => due,
            PoolGrowth::ByWaiting => due.max(self.now + PAUSE),
        })
    }

    /// So many workers come that were not asked for here: requests wait for them, and no others are asked for.
    pub(crate) fn expect_workers(&mut self, n: u32) {
        self.n_starting = n;
    }

    /// Whether neither those that could not be started nor those that died at once tell to wait.
    pub(super) fn may_start(&self) -> bool {
        self.crash_loop.allows_start(self.now) && self.start_failures.allows_start(self.now)
    }

    /// Tells workers to quit that were idle for too long.
    pub(crate) fn retire_idle(&mut self, now: Instant) {
        self.now = now;
        while let Some(&index) = self.idle.first().filter(|_| self.has_too_many()) {
            if now.duration_since(self.workers[index].idle_since) < self.processes.idle_timeout {
                return;
            }
            self.dismiss(index, EndCause::Idle, now);
            if self.processes.growth == PoolGrowth::ByWaiting {
                return;
            }
        }
    }

    fn has_too_many(&self) -> bool {
        let spare = self.processes.spare;
        match self.processes.growth {
            PoolGrowth::ByRequests => self.idle.len() > spare as usize,
            PoolGrowth::ByWaiting => self.n_running() > spare,
        }
    }

    /// Tells a worker to quit after what it runs now, as a person wants it. One that leaves already is told nothing.
    pub(crate) fn drain(&mut self, worker: WorkerId, now: Instant) {
        let index = self.index_of(worker).filter(|index| !self.workers[*index].leaving);
        index.into_iter().for_each(|index| self.dismiss(index, EndCause::Drained, now));
    }

    /// Takes the workers that were told to quit since this was asked last, and why.
    pub(crate) fn take_dismissed(&mut self) -> Vec<(WorkerId, EndCause)> {
        std::mem::take(&mut self.dismissed)
    }

    /// Tells a worker to quit after what it runs now.
    pub(super) fn dismiss(&mut self, worker: usize, cause: EndCause, now: Instant) {
        self.leaving(self.key_at(worker), now);
        self.dismissed.push((self.workers[worker].id, cause));
        self.workers[worker].port.quit();
        self.touched.push(worker);
    }

    /// No more spare workers: from now on only as many as the requests that are left need.
    pub(crate) fn retire(&mut self) {
        self.processes.spare = 0;
    }

    /// A worker that was asked for will not come. Returns the requests that no worker can serve now.
    pub(crate) fn worker_failed(&mut self, now: Instant) -> Vec<PoolRequest> {
        self.now = now;
        self.n_starting = self.n_starting.saturating_sub(1);
        self.start_failures.count(now);
        if self.is_deserted() { self.queue.drain(..).collect() } else { Vec::new() }
    }

    /// Whether there is no worker that takes requests, and none comes.
    pub(super) fn is_deserted(&self) -> bool {
        self.n_starting == 0 && self.workers.iter().all(|(_, worker)| worker.leaving)
    }
}
