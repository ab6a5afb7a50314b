//! One running instance of an application, shared by all event loops.

mod exchange;
mod extras;
mod failure;
mod file;
mod findings;
mod growth;
mod habits;
mod hijacked;
mod loop_app;
mod overload;
mod patience;
mod pool;
mod port;
mod program;
mod receiving;
mod rules;
mod turn;

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use corral_channel::{Lane, RequestId, Sleeper};
use corral_config::plan::{AppSpec, Growth, Hands, MemoryBounds, RuntimeSpec};
use corral_ipc::message::{AppId, AppStatus, Exit, FromRouter, WorkerId};
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;
use tokio::sync::Notify;

use crate::main_link::MainLink;
use crate::storage::buffers;
use crate::upkeep::{self, Upkeep};

pub(crate) use exchange::{Exchange, Piece};
pub(crate) use failure::{Failure, FramingError};
pub(crate) use file::SentFile;
pub(crate) use habits::Habit;
use habits::Habits;
pub(crate) use hijacked::Hijacked;
pub(crate) use loop_app::{BusyApps, LoopApp};
use overload::Overload;
pub(crate) use patience::Patience;
use pool::{Bounds, Broken, Cancelled, Condemned, Ended, Excess, Pool, Port, Refusal, Refused, Removed};
pub(crate) use pool::{RESCUE, Request, WorkerKey};
pub(crate) use port::{AnyPort, ChannelPort};
pub(crate) use program::Program;
pub(crate) use turn::Turn;
use turn::Turns;

/// An application instance: its specification and its workers.
///
/// Event loops share the pool behind a mutex that is held for well under a microsecond: for choosing a
/// worker and copying one request into its ring. Responses never take it, but for their last frame.
pub(crate) struct App {
    pub(crate) id: AppId,
    pub(crate) spec: AppSpec,
    pool: Mutex<Pool<AnyPort>>,
    /// Of requests that programs serve.
    turns: Arc<Turns>,
    main: MainLink,
    upkeep: Arc<Upkeep>,
    /// No generation refers to this instance any more.
    retired: AtomicBool,
    /// `main` was told that its processes can go.
    concluded: AtomicBool,
    /// Serves nothing before this instance has finished.
    successor: Mutex<Option<Arc<App>>>,
    /// Its workers take bodies as they come, and want to know at once that a client has left.
    streams: AtomicBool,
    last_error: Mutex<Option<String>>,
    overload: Overload,
    habits: Habits,
    /// Requests wait, and `growth` has to look after them.
    waiting: Arc<Notify>,
}

impl App {
    /// To be called on the control thread, in its runtime.
    pub(crate) fn new(id: AppId, spec: AppSpec, main: MainLink, upkeep: Arc<Upkeep>) -> Arc<Self> {
        let n_processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let processes = growth::bounds(&spec, n_processors);
        let mut bounds = Bounds::new(&spec.limits, &processes, spec.runtime.hands());
        if spec.runtime.ends_requests() {
            bounds.leave_time();
        }
        if !matches!(spec.runtime, RuntimeSpec::Http(_)) {
            bounds.end_at_last(&spec.limits);
        }
        let pool = Mutex::new(Pool::new(processes, bounds, n_processors, Instant::now()));
        let app = Arc::new(Self {
            id,
            spec,
            pool,
            turns: Arc::default(),
            main,
            upkeep,
            retired: AtomicBool::new(false),
            concluded: AtomicBool::new(false),
            successor: Mutex::new(None),
            streams: AtomicBool::new(false),
            last_error: Mutex::new(None),
            overload: Overload::default(),
            habits: Habits::default(),
            waiting: Arc::new(Notify::new()),
        });
        if app.spec.processes.growth == Growth::ByWaiting {
            tokio::spawn(growth::keep_looking(Arc::downgrade(&app), Arc::clone(&app.waiting)));
        }
        app
    }

    /// Hands a request to a worker, or queues it; gives it back when too many wait, or nobody is going to serve it.
    pub(crate) fn submit(&self, request: Request, now: Instant) -> Result<(), Refused> {
        let want_worker = {
            let mut pool = self.pool.lock();
            pool.submit(request, now)?;
            pool.want_worker()
        };
        self.upkeep.want();
        if want_worker {
            self.start_worker();
        }
        Ok(())
    }

    /// A worker reported the end of a request. False when it does not hold such a request.
    pub(crate) fn done(
        &self,
        worker: WorkerKey,
        lane: Lane,
        id: RequestId,
        run_time: u32,
        now: Instant,
    ) -> bool {
        let mut pool = self.pool.lock();
        let ended = pool.done(worker, lane, id, run_time, now).ok();
        self.conclude_if_unused(pool);
        let Some(Ended { payload, inline, slow }) = ended else { return false };
        buffers::give(payload);
        inline.give();
        if let Some(slow) = slow {
            self.report(&slow);
        }
        true
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

    /// Nobody waits for this answer any more: forgets the request, or tells its worker.
    pub(crate) fn cancel(&self, lane: Lane, id: RequestId) -> WasRunning {
        let mut pool = self.pool.lock();
        let was_running = match pool.cancel(lane, id) {
            Cancelled::Running(worker) => {
                if let Some(port) = pool.port_mut(worker).and_then(AnyPort::channel_mut) {
                    // Without room for the word the worker is stuck, and learns it when it sends more.
                    let _ = port.channel.cancel(id, lane);
                }
                WasRunning::Yes
            }
            Cancelled::Forgotten | Cancelled::Unknown => WasRunning::No,
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

    /// A worker has begun all that was sent to it.
    pub(crate) fn started(&self, worker: WorkerKey, now: Instant) {
        self.pool.lock().started(worker, now);
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

    /// Does something with the sending half of a worker's channel.
    pub(crate) fn with_port<T>(
        &self,
        worker: WorkerKey,
        act: impl FnOnce(&mut ChannelPort) -> T,
    ) -> Option<T> {
        self.pool.lock().port_mut(worker).and_then(AnyPort::channel_mut).map(act)
    }

    /// Gives requests that wait behind a script that takes longer than expected to idle workers.
    pub(crate) fn rescue(&self, now: Instant) {
        self.pool.lock().rescue(now);
        self.wake_workers();
    }

    /// Wakes the workers that got something and sleep. Called once for a batch of requests. True when
    /// `rescue` should be called in a while.
    pub(crate) fn wake_workers(&self) -> bool {
        let mut sleepers: SmallVec<[Sleeper; 8]> = SmallVec::new();
        let mut retired: SmallVec<[WorkerId; 4]> = SmallVec::new();
        let mut pool = self.pool.lock();
        let broken = pool.replace_broken();
        pool.take_touched(|port| match port {
            AnyPort::Channel(port) => sleepers.extend(port.channel.claim_sleeper()),
            AnyPort::Program(port) => retired.extend(port.program.retires_now().then_some(port.program.id)),
        });
        let (may_need_rescue, needs_look) = (pool.may_need_rescue(), pool.needs_look());
        let want_worker = !broken.is_empty() && pool.want_worker();
        drop(pool);
        for sleeper in sleepers {
            sleeper.wake();
        }
        if needs_look {
            self.waiting.notify_one();
        }
        for worker in retired {
            self.main.send(&FromRouter::RetireWorker { app: self.id, worker });
        }
        for Broken { worker, reason } in broken {
            self.main.send(&FromRouter::KillWorker { app: self.id, worker, reason });
        }
        if want_worker {
            self.start_worker();
        }
        may_need_rescue
    }

    /// Takes a worker in; `hands` is how many requests it runs at once, if it knows better than its specification.
    pub(crate) fn add_worker(
        &self,
        id: WorkerId,
        pid: u32,
        port: ChannelPort,
        hands: Option<NonZeroU32>,
    ) -> WorkerKey {
        *self.last_error.lock() = None;
        self.streams.fetch_or(hands.is_some(), Ordering::Relaxed);
        let mut pool = self.pool.lock();
        if let Some(n) = hands {
            let bounds = Bounds::new(&self.spec.limits, pool.processes(), Hands { n, ahead: false });
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
    pub(crate) fn remove_worker(&self, id: WorkerId) -> Option<Gone> {
        let (gone, want_worker) = {
            let mut pool = self.pool.lock();
            let removed = pool.remove_worker(id, Instant::now())?;
            let note = removed.port.note();
            let Removed { index, pid, started, condemned, .. } = removed;
            let want_worker = pool.want_worker();
            self.conclude_if_unused(pool);
            (Gone { id, index, pid, note, started, condemned }, want_worker)
        };
        self.wake_workers();
        if want_worker {
            self.start_worker();
        }
        Some(gone)
    }

    /// A worker could not be started. Returns the requests that nobody can serve now.
    pub(crate) fn worker_failed(&self, reason: String) -> Vec<Request> {
        *self.last_error.lock() = Some(reason);
        let mut pool = self.pool.lock();
        let failed = pool.worker_failed(Instant::now());
        self.conclude_if_unused(pool);
        failed
    }

    /// What is said of a request that was given back.
    fn explain(&self, refusal: Refusal) -> Failure {
        match refusal {
            Refusal::QueueFull => Failure::QueueFull,
            Refusal::NoWorker => Failure::NoWorker(self.last_error.lock().clone().unwrap_or_default()),
        }
    }

    /// A worker broke the rules of the channel: has `main` end it.
    pub(crate) fn give_up(&self, worker: WorkerKey, violation: &str) {
        self.pool.lock().give_up(worker, &violation);
        self.wake_workers();
    }

    /// Regular upkeep: spare workers retire, missing ones are asked for.
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
        self.spec.processes.idle_timeout < upkeep::INTERVAL
    }

    /// A request gets no answer because there are too many.
    pub(crate) fn count_refused(&self) {
        self.overload.count();
        self.upkeep.want();
    }

    pub(crate) fn status(&self) -> AppStatus {
        let figures = self.pool.lock().figures();
        AppStatus {
            name: self.spec.name.clone(),
            running: figures.running,
            starting: figures.starting,
            idle: figures.idle,
            active_requests: figures.active_requests,
            last_error: self.last_error.lock().clone(),
            ..AppStatus::default()
        }
    }

    /// Whether no request is in its workers' hands or on its way to them.
    pub(crate) fn is_quiet(&self) -> bool {
        self.pool.lock().n_active() == 0
    }

    /// Has another instance wait until this one, which is in use, has finished.
    pub(crate) fn precede(&self, successor: &Arc<Self>) {
        successor.pool.lock().hold();
        *self.successor.lock() = Some(Arc::clone(successor));
    }

    /// Its processes have ended: whatever waits for it need not wait longer.
    pub(crate) fn make_way(&self) {
        let successor = self.successor.lock().take();
        if let Some(successor) = successor {
            successor.pool.lock().go_on(Instant::now());
            successor.tick(Instant::now());
        }
    }

    /// The last request of an instance that no generation refers to has ended, so that none can come any more.
    fn conclude_if_unused(&self, pool: MutexGuard<'_, Pool<AnyPort>>) {
        let is_unused = self.retired.load(Ordering::Relaxed) && pool.n_active() == 0;
        drop(pool);
        if is_unused && !self.concluded.swap(true, Ordering::Relaxed) {
            self.main.send(&FromRouter::AppUnused { app: self.id });
            self.make_way();
        }
    }

    fn start_worker(&self) {
        self.main.send(&FromRouter::StartWorker { app: self.id });
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.waiting.notify_one();
    }
}

/// Whether a worker was running the request that was cancelled, and so will still report its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WasRunning {
    Yes,
    No,
}

/// A worker whose process is gone.
pub(crate) struct Gone {
    pub(crate) id: WorkerId,
    /// Its index in every event loop.
    pub(crate) index: usize,
    pub(crate) pid: u32,
    /// What it said it was doing.
    pub(crate) note: Vec<u8>,
    /// Requests that it took with it.
    pub(crate) started: Vec<(Lane, RequestId)>,
    /// Why it was to be killed.
    pub(crate) condemned: Option<Condemned>,
}

impl Gone {
    /// What became of a request that it took with it.
    fn failure(&self, request: (Lane, RequestId), exit: Exit) -> Failure {
        let verdict = self.condemned.and_then(|condemned| condemned.failure(request, self.pid));
        verdict.unwrap_or_else(|| Failure::WorkerGone { pid: self.pid, exit, note: self.note.clone() })
    }
}

impl Condemned {
    /// What becomes of a request of the worker `pid`, if it is the one that the worker was to be killed for.
    fn failure(&self, request: (Lane, RequestId), pid: u32) -> Option<Failure> {
        (self.request == Some(request)).then_some(match self.excess {
            Excess::Time(elapsed) => Failure::Killed { pid, elapsed },
            Excess::Memory(used) => Failure::Outgrown { pid, used },
        })
    }
}

/// A generation's claim on an application instance. When the last one is gone, so are all requests
/// that could still name the instance, and `main` may stop its processes once it is quiet.
pub(crate) struct Lease(pub(crate) Arc<App>);

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.retired.store(true, Ordering::Relaxed);
        let mut pool = self.0.pool.lock();
        pool.retire();
        self.0.conclude_if_unused(pool);
    }
}
