//! One running instance of an application, as event loops see it: they hand it requests, and hear of their ends.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use corral_channel::{Lane, RequestId};
use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::message::AppId;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::failure::AppFailure;
use super::left_state::LeftStateCounts;
use super::leniencies::{Leniencies, Leniency};
use super::overload::Overload;
use super::pool::Pool;
use super::pool::bounds::PoolBounds;
use super::pool::pool_request::PoolRequest;
use super::pool::serving::{CancelOutcome, EndedRequest, NotHeld, RejectedRequest, Rejection};
use super::pool::worker::{ScriptTrace, WorkerKey};
use super::port::{AnyPort, ChannelPort};
use super::request_counts::AllRequestCounts;
use super::sizes;
use super::turns::ProgramTurns;
use crate::control_waker::ControlWaker;
use crate::main_link::MainSender;
use crate::storage::buffers;

/// An application instance: its specification and its workers.
///
/// Event loops share the pool behind a mutex that is held for well under a microsecond: for choosing a
/// worker and copying one request into its ring. Responses never take it, but for their last frame.
pub(crate) struct AppInstance {
    pub(crate) id: AppId,
    pub(crate) spec: AppSpec,
    pub(super) pool: Mutex<Pool<AnyPort>>,
    /// The turns of requests that programs serve.
    pub(super) turns: Arc<ProgramTurns>,
    pub(super) main: MainSender,
    pub(super) control_waker: Arc<ControlWaker>,
    /// No generation refers to this instance any more.
    pub(super) retired: AtomicBool,
    /// `main` was told that its processes can go.
    pub(super) concluded: AtomicBool,
    /// Serves nothing before this instance has finished.
    pub(super) successor: Mutex<Option<Arc<AppInstance>>>,
    /// The workers take bodies as they come, and want to know at once that a client has left.
    pub(super) streams: AtomicBool,
    pub(super) last_error: Mutex<Option<String>>,
    pub(super) left_state: Arc<LeftStateCounts>,
    pub(super) overload: Overload,
    pub(super) request_counts: Arc<AllRequestCounts>,
    leniencies: Leniencies,
    /// Requests wait, and `growth` has to look after them.
    pub(super) waiting: Arc<Notify>,
}

/// The counts of an application, which go on in an instance that takes the place of another.
#[derive(Clone)]
pub(crate) struct AppCounts {
    requests: Arc<AllRequestCounts>,
    left_state: Arc<LeftStateCounts>,
}

impl AppCounts {
    /// The counts of an application that is new.
    pub(crate) fn new(n_loops: usize) -> Self {
        Self { requests: Arc::new(AllRequestCounts::new(n_loops)), left_state: Arc::default() }
    }
}

/// Whether a worker was running the request that was cancelled, and so will still report its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WasRunning {
    Yes,
    No,
}

impl AppInstance {
    pub(super) fn new(
        id: AppId,
        spec: AppSpec,
        counts: AppCounts,
        main: MainSender,
        control_waker: Arc<ControlWaker>,
    ) -> Arc<Self> {
        let n_processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let processes = sizes::bounds(&spec, n_processors);
        let mut bounds = PoolBounds::new(&spec.limits, &processes, spec.runtime.concurrency());
        if spec.runtime.ends_requests() {
            bounds.leave_time();
        }
        if !matches!(spec.runtime, RuntimeSpec::Http(_)) {
            bounds.end_at_last(&spec.limits);
        }
        let pool = Mutex::new(Pool::new(processes, bounds, n_processors, Instant::now()));
        Arc::new(Self {
            id,
            spec,
            pool,
            turns: Arc::default(),
            main,
            control_waker,
            retired: AtomicBool::new(false),
            concluded: AtomicBool::new(false),
            successor: Mutex::new(None),
            streams: AtomicBool::new(false),
            last_error: Mutex::new(None),
            left_state: counts.left_state,
            overload: Overload::default(),
            request_counts: counts.requests,
            leniencies: Leniencies::default(),
            waiting: Arc::new(Notify::new()),
        })
    }

    /// The counts, for an instance that takes the place of this one.
    pub(crate) fn counts(&self) -> AppCounts {
        AppCounts { requests: Arc::clone(&self.request_counts), left_state: Arc::clone(&self.left_state) }
    }

    /// Hands a request to a worker, or queues it; gives it back when too many wait, or no worker is going to serve it.
    pub(crate) fn submit(&self, request: PoolRequest, now: Instant) -> Result<(), RejectedRequest> {
        let want_worker = {
            let mut pool = self.pool.lock();
            pool.submit(request, now)?;
            pool.want_worker()
        };
        self.control_waker.want();
        if want_worker {
            self.start_worker();
        }
        Ok(())
    }

    /// A worker reported the end of a request of the event loop that calls. Its process, unless that is gone.
    ///
    /// # Errors
    /// When the worker does not hold such a request.
    pub(crate) fn done(
        &self,
        worker: WorkerKey,
        lane: Lane,
        id: RequestId,
        run_time: u32,
        now: Instant,
    ) -> Result<Option<u32>, NotHeld> {
        let mut pool = self.pool.lock();
        let ended = pool.done(worker, lane, id, run_time, now);
        self.conclude_if_unused(pool);
        let EndedRequest { payload, inline, slow, waited, pid } = ended?;
        if let Some(waited) = waited {
            self.request_counts.of_loop(lane).note_wait(waited);
        }
        buffers::give(payload);
        inline.give();
        if let Some(slow) = slow {
            self.report(&slow);
        }
        Ok(pid)
    }

    /// A worker has said where a request of the event loop that calls is. False when it does not run such a request.
    pub(crate) fn trace(&self, worker: WorkerKey, lane: Lane, id: RequestId, trace: ScriptTrace) -> bool {
        self.pool.lock().trace(worker, lane, id, trace)
    }

    /// The answer is not waited for any more: forgets the request, or tells its worker.
    pub(crate) fn cancel(&self, lane: Lane, id: RequestId) -> WasRunning {
        let mut pool = self.pool.lock();
        let was_running = match pool.cancel(lane, id) {
            CancelOutcome::Running(worker) => {
                if let Some(port) = pool.port_mut(worker).and_then(AnyPort::channel_mut) {
                    // Without room for the word the worker is stuck, and learns it when it sends more.
                    let _ = port.channel.cancel(id, lane);
                }
                WasRunning::Yes
            }
            CancelOutcome::Forgotten | CancelOutcome::Unknown => WasRunning::No,
        };
        self.conclude_if_unused(pool);
        was_running
    }

    /// The client of this request sends nothing more: its worker may want to know.
    pub(crate) fn client_left(&self, lane: Lane, id: RequestId) {
        let mut pool = self.pool.lock();
        let holder = pool.holder(lane, id);
        if let Some(port) = holder.and_then(|worker| pool.port_mut(worker)).and_then(AnyPort::channel_mut) {
            // Without room for the word the worker has more to do than to say nothing.
            let _ = port.channel.left(id, lane);
        }
    }

    /// A request has become a connection that may last.
    pub(crate) fn upgraded(&self, worker: WorkerKey, lane: Lane, id: RequestId) {
        if let Some(payload) = self.pool.lock().upgraded(worker, lane, id) {
            buffers::give(payload);
        }
    }

    /// Whether its workers run requests in event loops.
    pub(crate) fn streams(&self) -> bool {
        self.streams.load(Ordering::Relaxed)
    }

    /// Whether no worker has begun to run the request.
    pub(crate) fn is_queued(&self, lane: Lane, id: RequestId) -> bool {
        self.pool.lock().is_queued(lane, id)
    }

    /// Whether no other request has to end before this one is run.
    pub(crate) fn is_in_hand(&self, lane: Lane, id: RequestId) -> bool {
        self.pool.lock().is_in_hand(lane, id)
    }

    /// Since when a worker has run the request, and its process; none while the request waits.
    pub(crate) fn running_since(&self, lane: Lane, id: RequestId) -> Option<(Instant, u32)> {
        self.pool.lock().running_since(lane, id)
    }

    /// Does something with the sending half of a worker's channel.
    pub(crate) fn with_port<T>(
        &self,
        worker: WorkerKey,
        act: impl FnOnce(&mut ChannelPort) -> T,
    ) -> Option<T> {
        self.pool.lock().port_mut(worker).and_then(AnyPort::channel_mut).map(act)
    }

    /// The failure of a request that was given back.
    pub(super) fn explain(&self, refusal: Rejection) -> AppFailure {
        match refusal {
            Rejection::QueueFull => AppFailure::QueueFull,
            Rejection::NoWorker => AppFailure::NoWorker(self.last_error.lock().clone().unwrap_or_default()),
        }
    }

    /// A request gets no answer because there are too many.
    pub(crate) fn note_overload(&self) {
        self.overload.count();
        self.control_waker.want();
    }

    /// Serves on, and says once what is wrong.
    pub(crate) fn tolerate(&self, leniency: Leniency) {
        self.leniencies.notice(&self.spec.name, leniency);
    }
}

impl Drop for AppInstance {
    fn drop(&mut self) {
        self.waiting.notify_one();
    }
}
