//! The life of an application's workers: asked for, taken in, woken, and gone.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use corral_channel::{Lane, RequestId, Sleeper};
use corral_config::plan::{AppSpec, PoolGrowth, WorkerConcurrency};
use corral_ipc::message::{AppId, EndCause, Exit, FromRouter, WorkerId};
use smallvec::SmallVec;

use super::app::{AppCounts, AppInstance};
use super::failure::AppFailure;
use super::growth;
use super::pool::bounds::PoolBounds;
use super::pool::members::{RemovedWorker, StartedRequest};
use super::pool::pool_request::PoolRequest;
use super::pool::port::PoolPort;
use super::pool::verdict::{BrokenWorker, KillReason};
use super::pool::worker::WorkerKey;
use super::port::{AnyPort, ChannelPort};
use crate::control_waker::ControlWaker;
use crate::main_link::MainSender;

/// A worker whose process is gone.
pub(crate) struct DeadWorker {
    pub(crate) id: WorkerId,
    /// The worker's index in every event loop.
    pub(crate) index: usize,
    pub(crate) pid: u32,
    /// The note about what it was doing.
    pub(crate) note: Vec<u8>,
    /// Requests that it took with it.
    pub(crate) started: Vec<StartedRequest>,
    /// Why it was to be killed.
    pub(crate) kill_reason: Option<KillReason>,
}

/// The workers that were to hear that they have got something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WokenWorkers {
    pub(crate) n_woken: u64,
    /// Workers that were awake, which took no system call.
    pub(crate) n_awake: u64,
    /// Whether `rescue` should be called in a while.
    pub(crate) may_need_rescue: bool,
}

impl DeadWorker {
    /// The failure of a request that it took with it.
    pub(super) fn failure(&self, request: (Lane, RequestId), exit: Exit) -> AppFailure {
        let verdict = self.kill_reason.and_then(|kill_reason| kill_reason.failure(request, self.pid));
        verdict.unwrap_or_else(|| AppFailure::WorkerGone { pid: self.pid, exit, note: self.note.clone() })
    }
}

impl AppInstance {
    /// To be called on the control thread, in its runtime.
    pub(crate) fn start(
        id: AppId,
        spec: AppSpec,
        counts: AppCounts,
        main: MainSender,
        control_waker: Arc<ControlWaker>,
    ) -> Arc<Self> {
        let app = Self::new(id, spec, counts, main, control_waker);
        if app.spec.processes.growth == PoolGrowth::ByWaiting {
            tokio::spawn(growth::keep_looking(Arc::downgrade(&app), Arc::clone(&app.waiting)));
        }
        app
    }

    /// The worker takes no more requests; another may be needed in its place. One that has taken connections over waits
    /// for the word that they have ended.
    pub(crate) fn leaving(&self, worker: WorkerKey, now: Instant) {
        let want_worker = {
            let mut pool = self.pool.lock();
            pool.leaving(worker, now);
            if let Some(port) = pool.port_mut(worker).and_then(AnyPort::channel_mut) {
                port.let_go();
            }
            pool.want_worker()
        };
        if want_worker {
            self.start_worker();
        }
    }

    /// A worker has begun all that was sent to it.
    pub(crate) fn started(&self, worker: WorkerKey, now: Instant) {
        self.pool.lock().started(worker, now);
    }

    /// Gives requests that wait behind a script that takes longer than expected to idle workers.
    pub(crate) fn rescue(&self, now: Instant) {
        self.pool.lock().rescue(now);
        self.wake_workers();
    }

    /// Wakes the workers that got something and sleep. Called once for a batch of requests.
    pub(crate) fn wake_workers(&self) -> WokenWorkers {
        let mut n_awake = 0;
        let mut sleepers: SmallVec<[Sleeper; 8]> = SmallVec::new();
        let mut retired: SmallVec<[WorkerId; 4]> = SmallVec::new();
        let mut pool = self.pool.lock();
        let broken = pool.replace_broken();
        let dismissed = pool.take_dismissed();
        pool.take_touched(|port| match port {
            AnyPort::Channel(port) => match port.channel.claim_sleeper() {
                Some(sleeper) => sleepers.push(sleeper),
                None => n_awake += 1,
            },
            AnyPort::Program(port) => retired.extend(port.program.retires_now().then_some(port.program.id)),
        });
        let (may_need_rescue, needs_look) = (pool.may_need_rescue(), pool.needs_look());
        let want_worker = !broken.is_empty() && pool.want_worker();
        drop(pool);
        let n_woken = sleepers.len() as u64;
        for sleeper in sleepers {
            sleeper.wake();
        }
        if needs_look {
            self.waiting.notify_one();
        }
        for (worker, cause) in dismissed {
            self.main.send(&FromRouter::WorkerDismissed { app: self.id, worker, cause });
        }
        for worker in retired {
            self.main.send(&FromRouter::RetireWorker { app: self.id, worker });
        }
        for BrokenWorker { worker, reason } in broken {
            let cause = EndCause::Broken;
            self.main.send(&FromRouter::KillWorker { app: self.id, worker, cause, reason });
        }
        if want_worker {
            self.start_worker();
        }
        WokenWorkers { n_woken, n_awake, may_need_rescue }
    }

    /// Takes a worker in; `concurrency` is how many requests it runs at once, if it knows better than its
    /// specification.
    pub(crate) fn add_worker(
        &self,
        id: WorkerId,
        pid: u32,
        port: ChannelPort,
        concurrency: Option<NonZeroU32>,
    ) -> WorkerKey {
        *self.last_error.lock() = None;
        self.streams.fetch_or(concurrency.is_some(), Ordering::Relaxed);
        let mut pool = self.pool.lock();
        if let Some(n) = concurrency {
            let bounds =
                PoolBounds::new(&self.spec.limits, pool.processes(), WorkerConcurrency { n, ahead: false });
            pool.set_bounds(bounds);
        }
        pool.add_worker(id, pid, AnyPort::Channel(port), Instant::now())
    }

    /// So many workers come without having been asked for.
    pub(crate) fn expect_workers(&self, n: u32) {
        self.pool.lock().expect_workers(n);
    }

    /// Lets an added worker take requests; every event loop listens to it by now.
    pub(crate) fn enable_worker(&self, worker: WorkerKey) {
        let want_worker = {
            let mut pool = self.pool.lock();
            pool.enable_worker(worker);
            pool.want_worker()
        };
        self.wake_workers();
        if want_worker {
            self.start_worker();
        }
    }

    /// A worker's process is gone: what it had not started goes to others.
    pub(crate) fn remove_worker(&self, id: WorkerId) -> Option<DeadWorker> {
        let (gone, want_worker) = {
            let mut pool = self.pool.lock();
            let removed = pool.remove_worker(id, Instant::now())?;
            let note = removed.port.note();
            let RemovedWorker { index, pid, started, kill_reason, .. } = removed;
            let want_worker = pool.want_worker();
            self.conclude_if_unused(pool);
            (DeadWorker { id, index, pid, note, started, kill_reason }, want_worker)
        };
        self.wake_workers();
        if want_worker {
            self.start_worker();
        }
        Some(gone)
    }

    /// A worker could not be started. Returns the requests that no worker can serve now.
    pub(crate) fn worker_failed(&self, reason: String) -> Vec<PoolRequest> {
        *self.last_error.lock() = Some(reason);
        let mut pool = self.pool.lock();
        let failed = pool.worker_failed(Instant::now());
        self.conclude_if_unused(pool);
        failed
    }

    /// A worker broke the rules of the channel: has `main` end it.
    pub(crate) fn give_up(&self, worker: WorkerKey, violation: &str) {
        self.pool.lock().give_up(worker, &violation);
        self.wake_workers();
    }

    pub(super) fn start_worker(&self) {
        self.main.send(&FromRouter::StartWorker { app: self.id });
    }
}
