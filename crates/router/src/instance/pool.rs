//! Which worker of an application gets which request. Pure: ports stand for the channels, time comes in.
//!
//! A worker runs one request at a time, or as many as its type and its configuration say. An idle worker is preferred,
//! the most recently used one first, so that spare ones can retire; then the least busy one of those with room. Without
//! any, a busy worker may hold requests *ahead*, so that it goes on without waiting for the router to be scheduled:
//! one, or as many short ones as make up `worker_choice::AHEAD`. A request that waits ahead is taken back when another
//! worker has nothing to do, or when it has waited behind a slow one for longer than `worker_choice::STALE`. Everything
//! else waits in one queue, first come, first served.
//!
//! An idle worker is left asleep in one case: every processor has a busy worker already, and
//! the scripts are so short that waiting for one costs less than waking another. If a script turns out
//! to be longer after all, `rescue` gives what waits behind it to the idle worker.
//!
//! Measured on two cores with 100 connections, holding short requests ahead took futex calls from 0.55 to 0.14 and
//! context switches of workers from 0.9 to 0.3 for each request.

pub(super) mod bounds;
mod broken;
mod crash_loop;
pub(super) mod growth;
pub(super) mod listing;
pub(super) mod members;
pub(super) mod pool_request;
pub(super) mod port;
mod run_time;
pub(super) mod serving;
mod staffing;
mod start_failures;
pub(super) mod usage;
pub(super) mod verdict;
mod watch;
pub(super) mod worker;
mod worker_choice;

use std::collections::VecDeque;
use std::time::Instant;

use corral_channel::{Lane, RequestId};
use corral_config::plan::Processes;
use corral_ipc::message::{EndCause, WorkerId};
use slab::Slab;

use self::bounds::PoolBounds;
use self::crash_loop::CrashLoop;
use self::pool_request::PoolRequest;
use self::port::PoolPort;
use self::run_time::RunTime;
use self::start_failures::StartFailures;
use self::verdict::BrokenWorker;
use self::worker::{PoolWorker, WorkerKey};

/// The workers of one application and the requests that wait for them.
#[derive(Debug)]
pub(crate) struct Pool<P> {
    workers: Slab<PoolWorker<P>>,
    /// Workers without a request, the most recently used last.
    idle: Vec<usize>,
    /// Busy workers that may take one more ahead. The last is the next: the one that has most recently
    /// begun something, as among unequal scripts one that has run for long is likely to run on; after its
    /// turn it is the first. Entries of an older epoch are void. Unused if workers run several requests at once.
    open: VecDeque<(usize, u32)>,
    /// Requests that were handed over ahead, oldest first. Void when the worker no longer holds them.
    ahead: VecDeque<(usize, Lane, RequestId)>,
    queue: VecDeque<PoolRequest>,
    /// Workers that got a request or an order since the last wake-up call.
    touched: Vec<usize>,
    /// Workers that broke the rules of the channel and that main was not told of.
    broken: Vec<BrokenWorker>,
    /// Workers that were told to quit and that main was not told of.
    dismissed: Vec<(WorkerId, EndCause)>,
    n_held: usize,
    n_starting: u32,
    processes: Processes,
    bounds: PoolBounds,
    /// Processors that workers can run on.
    n_processors: usize,
    run_time: RunTime,
    /// Looks, one after the other, that found that one more worker would help.
    n_looks: u32,
    now: Instant,
    /// Nothing is handed over for the time being.
    is_held: bool,
    crash_loop: CrashLoop,
    start_failures: StartFailures,
}

/// The figures of a pool for the status.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolFigures {
    pub(crate) running: u32,
    pub(crate) starting: u32,
    pub(crate) idle: u32,
    pub(crate) leaving: u32,
    pub(crate) active_requests: u32,
    pub(crate) waiting: u32,
}

impl<P: PoolPort> Pool<P> {
    pub(crate) fn new(processes: Processes, bounds: PoolBounds, n_processors: usize, now: Instant) -> Self {
        Self {
            workers: Slab::new(),
            idle: Vec::new(),
            open: VecDeque::new(),
            ahead: VecDeque::new(),
            queue: VecDeque::new(),
            touched: Vec::new(),
            broken: Vec::new(),
            dismissed: Vec::new(),
            n_held: 0,
            n_starting: 0,
            processes,
            bounds,
            n_processors,
            run_time: RunTime::default(),
            n_looks: 0,
            now,
            is_held: false,
            crash_loop: CrashLoop::default(),
            start_failures: StartFailures::default(),
        }
    }

    pub(crate) fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Has other bounds from now on. Its workers speak of themselves, and all say the same; whatever does not when
    /// there are some already is not believed.
    pub(crate) fn set_bounds(&mut self, bounds: PoolBounds) {
        if self.workers.is_empty() {
            self.bounds = bounds;
        }
    }

    /// Requests wait until it goes on.
    pub(crate) fn hold(&mut self) {
        self.is_held = true;
    }

    /// Lets the pool serve the requests that have waited.
    pub(crate) fn go_on(&mut self, now: Instant) {
        self.now = now;
        self.is_held = false;
        self.dispatch();
    }

    /// Requests that were handed over or wait.
    pub(crate) fn n_active(&self) -> usize {
        self.n_held + self.queue.len()
    }

    pub(crate) fn figures(&self) -> PoolFigures {
        let running = self.n_running();
        PoolFigures {
            running,
            starting: self.n_starting,
            idle: self.idle.len() as u32,
            leaving: (self.workers.len() as u32).saturating_sub(running),
            active_requests: self.n_active() as u32,
            waiting: self.n_waiting() as u32,
        }
    }

    /// Requests that no worker runs, some of which a worker holds behind the one that it runs.
    fn n_waiting(&self) -> usize {
        let behind =
            self.workers.iter().map(|(_, worker)| worker.held.len().saturating_sub(self.n_at_once()));
        self.queue.len() + behind.sum::<usize>()
    }

    /// The port of a worker, which counts as touched.
    pub(crate) fn port_mut(&mut self, worker: WorkerKey) -> Option<&mut P> {
        self.find(worker)?;
        self.touched.push(worker.index);
        Some(&mut self.workers[worker.index].port)
    }

    /// Ports that got something since this was last asked: their workers may have to be woken.
    pub(crate) fn take_touched(&mut self, mut visit: impl FnMut(&P)) {
        for worker in self.touched.drain(..) {
            if let Some(entry) = self.workers.get(worker) {
                visit(&entry.port);
            }
        }
    }

    /// The word about a worker may come late: another one can have its index by then.
    fn find(&mut self, worker: WorkerKey) -> Option<&mut PoolWorker<P>> {
        self.workers.get_mut(worker.index).filter(|entry| entry.id == worker.id)
    }

    fn key_at(&self, index: usize) -> WorkerKey {
        WorkerKey { index, id: self.workers[index].id }
    }

    fn n_running(&self) -> u32 {
        self.workers.iter().filter(|(_, worker)| !worker.leaving).count() as u32
    }

    fn index_of(&self, id: WorkerId) -> Option<usize> {
        self.workers.iter().find(|(_, worker)| worker.id == id).map(|(index, _)| index)
    }
}

#[cfg(test)]
mod tests;
