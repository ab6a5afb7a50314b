//! Workers join a pool, and leave it.

use std::time::{Duration, Instant};

use corral_channel::{Lane, RequestId};
use corral_ipc::message::WorkerId;

use super::Pool;
use super::pool_request::PoolRequest;
use super::port::PoolPort;
use super::verdict::KillReason;
use super::worker::{PoolWorker, WorkerKey};

/// A worker that is gone.
#[derive(Debug)]
pub(crate) struct RemovedWorker<P> {
    pub(crate) index: usize,
    pub(crate) pid: u32,
    pub(crate) port: P,
    pub(crate) started: Vec<StartedRequest>,
    /// Why it was to be killed.
    pub(crate) kill_reason: Option<KillReason>,
}

/// A request that a worker had begun when it died.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StartedRequest {
    pub(crate) lane: Lane,
    pub(crate) id: RequestId,
    /// How long it had waited for the worker.
    pub(crate) waited: Duration,
}

impl<P: PoolPort> Pool<P> {
    /// The worker leaves after what it runs now: what waits ahead there goes to others.
    pub(crate) fn leaving(&mut self, worker: WorkerKey, now: Instant) {
        self.now = now;
        let Some(entry) = self.find(worker) else { return };
        entry.leaving = true;
        entry.epoch = entry.epoch.wrapping_add(1);
        self.idle.retain(|&idle| idle != worker.index);
        self.take_back_all(worker.index);
        self.dispatch();
    }

    /// A worker that `main` started; its index is the name of its lanes in the event loops.
    pub(crate) fn add_worker(&mut self, id: WorkerId, pid: u32, port: P, now: Instant) -> WorkerKey {
        self.now = now;
        self.n_starting = self.n_starting.saturating_sub(1);
        self.start_failures.end();
        WorkerKey { index: self.workers.insert(PoolWorker::new(id, pid, port, now)), id }
    }

    /// Lets an added worker take requests, once every event loop listens to it. It may be gone by then.
    pub(crate) fn enable_worker(&mut self, worker: WorkerKey) {
        let Some(entry) = self.find(worker) else { return };
        entry.is_here = true;
        if !entry.leaving {
            self.refill(worker.index);
        }
    }

    /// A worker's process is gone. What it had not started goes to others; the rest is returned, to be
    /// answered with an error.
    pub(crate) fn remove_worker(&mut self, id: WorkerId, now: Instant) -> Option<RemovedWorker<P>> {
        self.now = now;
        let index = self.index_of(id)?;
        self.idle.retain(|&idle| idle != index);
        let mut worker = self.workers.remove(index);
        self.n_held -= worker.held.len();
        let mut started = Vec::new();
        let is_fresh = !worker.leaving && worker.n_served == 0;
        for held in worker.held.drain(..).rev() {
            if held.take_back(&worker.port) {
                self.queue.push_front(held.request);
            } else {
                let PoolRequest { lane, id, .. } = held.request;
                started.push(StartedRequest { lane, id, waited: held.waited() });
            }
        }
        if is_fresh && started.is_empty() {
            self.crash_loop.died(now);
        }
        self.dispatch();
        let PoolWorker { pid, port, kill_reason, .. } = worker;
        Some(RemovedWorker { index, pid, port, started, kill_reason })
    }
}
