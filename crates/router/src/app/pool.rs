//! Which worker of an application gets which request. Pure: ports stand for the channels, time comes in.
//!
//! An idle worker is preferred, the most recently used one first, so that spare ones can retire.
//! Without one, a busy worker may hold requests *ahead*, so that it goes on without waiting for the router
//! to be scheduled: one, or as many short ones as make up `AHEAD`. A request that waits ahead is taken
//! back when another worker has nothing to do, or when it has waited behind a slow one for longer than
//! `STALE`. Everything else waits in one queue, first come, first served.
//!
//! There is one case in which an idle worker is left asleep: every processor has a busy worker already, and
//! the scripts are so short that waiting for one costs less than waking another. If a script turns out
//! to be longer after all, `rescue` gives what waits behind it to the idle worker.

mod bounds;
mod broken;
mod crash_loop;
mod growth;
mod run_time;
mod setbacks;
mod staffing;
mod watch;
mod worker;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use corral_channel::{Lane, RequestId, SendError, Slot};
use corral_config::plan::Processes;
use corral_ipc::message::WorkerId;
use slab::Slab;

pub(crate) use self::bounds::Bounds;
pub(crate) use self::broken::Broken;
use self::crash_loop::CrashLoop;
use self::growth::Growing;
pub(crate) use self::growth::LOOK;
use self::run_time::RunTime;
use self::setbacks::Setbacks;
pub(crate) use self::watch::{Condemned, Excess, Finding, Verdict};
pub(crate) use self::worker::WorkerKey;
use self::worker::{Held, Worker};

/// How long a request may wait behind another one before a worker that finishes earlier takes it over.
const STALE: Duration = Duration::from_millis(10);

/// Scripts that run for less than this do not repay waking a worker for want of a free processor.
const SHORT: Duration = Duration::from_micros(250);

/// How long a request waits ahead at most while another worker is idle.
pub(crate) const RESCUE: Duration = Duration::from_millis(2);

/// Work that a worker may hold ahead of what it runs: about as much as it gets done before the router, on
/// a busy machine, is scheduled again.
const AHEAD: Duration = Duration::from_micros(150);

/// Requests that a worker may hold ahead at most.
const MAX_AHEAD: u128 = 7;

/// The sending half of one worker's channel.
pub(crate) trait Port {
    /// Hands a request over.
    fn submit(&mut self, slot: Slot, request: &Request) -> Result<(), SendError>;
    /// Takes a request back that was not started; false when it was.
    fn take_back(&self, slot: Slot, request: &Request) -> bool;
    /// Whether the worker has begun to run the request.
    fn is_started(&self, slot: Slot, request: &Request) -> bool;
    /// Tells the worker to leave once it has finished what it runs.
    fn quit(&mut self);
    /// Whether the worker waits for the router to say something.
    fn is_waiting(&self) -> bool;
    /// What the worker says that it runs.
    fn note(&self) -> Vec<u8>;
}

/// A request as it waits for a worker: encoded, and addressed to the event loop that asked.
#[derive(Debug)]
pub(crate) struct Request {
    /// The event loop that gets the response.
    pub(crate) lane: Lane,
    /// Unique among the requests of its lane.
    pub(crate) id: RequestId,
    /// The encoded head and the first piece of the body.
    pub(crate) payload: Vec<u8>,
    pub(crate) arrived: Instant,
}

/// The workers of one application and the requests that wait for them.
#[derive(Debug)]
pub(crate) struct Pool<P> {
    workers: Slab<Worker<P>>,
    /// Workers without a request, the most recently used last.
    idle: Vec<usize>,
    /// Busy workers that may take one more ahead. The last is the next: the one that has most recently
    /// begun something, as among unequal scripts one that has run for long is likely to run on; after its
    /// turn it is the first. Entries of an older epoch are void.
    open: VecDeque<(usize, u32)>,
    /// Requests that were handed over ahead, oldest first. Void when the worker no longer holds them.
    ahead: VecDeque<(usize, Lane, RequestId)>,
    queue: VecDeque<Request>,
    /// Workers that got a request or an order since the last wake-up call.
    touched: Vec<usize>,
    /// Workers that broke the rules of the channel and that nobody was told of.
    broken: Vec<Broken>,
    n_held: usize,
    n_starting: u32,
    processes: Processes,
    bounds: Bounds,
    /// Processors that workers can run on.
    n_processors: usize,
    run_time: RunTime,
    growing: Growing,
    now: Instant,
    /// Nothing is handed over for the time being.
    is_held: bool,
    crash_loop: CrashLoop,
    setbacks: Setbacks,
}

/// The worker reported something about a request that it does not hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotHeld;

/// A request that was not taken in.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) request: Request,
    pub(crate) reason: Refusal,
}

/// Why a request was not taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Too many wait already.
    QueueFull,
    /// There is no worker, none could be started, and it is too early to try again.
    NoWorker,
}

/// What became of a request that nobody wants an answer to any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// No worker had started it; it is gone.
    Forgotten,
    /// This worker runs it and may be told.
    Running(WorkerKey),
    /// It is not known here: it ended in the meantime.
    Unknown,
}

/// The figures of a pool for the status.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) running: u32,
    pub(crate) starting: u32,
    pub(crate) idle: u32,
    pub(crate) active_requests: u32,
}

impl<P: Port> Pool<P> {
    pub(crate) fn new(processes: Processes, bounds: Bounds, n_processors: usize, now: Instant) -> Self {
        Self {
            workers: Slab::new(),
            idle: Vec::new(),
            open: VecDeque::new(),
            ahead: VecDeque::new(),
            queue: VecDeque::new(),
            touched: Vec::new(),
            broken: Vec::new(),
            n_held: 0,
            n_starting: 0,
            processes,
            bounds,
            n_processors,
            run_time: RunTime::default(),
            growing: Growing::default(),
            now,
            is_held: false,
            crash_loop: CrashLoop::default(),
            setbacks: Setbacks::default(),
        }
    }

    /// Takes a request in; it is handed over at once when a worker has a hand free. Gives it back when too many
    /// wait already, or nobody is going to serve it.
    pub(crate) fn submit(&mut self, request: Request, now: Instant) -> Result<(), Refused> {
        self.now = now;
        if self.n_active() >= self.bounds.active {
            return Err(Refused { request, reason: Refusal::QueueFull });
        }
        if self.is_deserted() && !self.setbacks.allows_start(now) {
            return Err(Refused { request, reason: Refusal::NoWorker });
        }
        self.queue.push_back(request);
        self.dispatch();
        Ok(())
    }

    /// Requests wait until it goes on.
    pub(crate) fn hold(&mut self) {
        self.is_held = true;
    }

    /// It serves what has waited.
    pub(crate) fn go_on(&mut self, now: Instant) {
        self.now = now;
        self.is_held = false;
        self.dispatch();
    }

    /// A request has ended after it ran for `run_time` microseconds: its worker's hand is free.
    pub(crate) fn done(
        &mut self,
        worker: WorkerKey,
        lane: Lane,
        id: RequestId,
        run_time: u32,
        now: Instant,
    ) -> Result<Ended, NotHeld> {
        self.now = now;
        self.run_time.note(run_time);
        self.crash_loop.end();
        let entry = self.find(worker).ok_or(NotHeld)?;
        let position = entry.position(lane, id).ok_or(NotHeld)?;
        let held = entry.release(position);
        entry.slow = false;
        entry.has_served = true;
        let is_leaving = entry.leaving;
        self.n_held -= 1;
        let slow = self.bounds.was_slow(&self.workers[worker.index], &held, run_time);
        if is_leaving {
            // Its place among those in progress may be what another one waits for.
            self.dispatch();
        } else {
            self.refill(worker.index);
        }
        Ok(Ended { payload: held.request.payload, slow })
    }

    /// Gives a request that has waited ahead for too long to an idle worker.
    pub(crate) fn rescue(&mut self, now: Instant) {
        self.now = now;
        while let Some(&worker) = self.idle.last() {
            let Some(request) = self.take_over_ahead(worker, RESCUE) else { return };
            self.queue.push_front(request);
            self.hand_over_to_idle();
        }
    }

    /// Whether a request waits ahead although a worker is idle.
    pub(crate) fn may_need_rescue(&self) -> bool {
        !self.idle.is_empty() && !self.ahead.is_empty()
    }

    /// The worker leaves after what it runs now: what waits in its hands goes to others.
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
        self.setbacks.end();
        WorkerKey { index: self.workers.insert(Worker::new(id, pid, port, now)), id }
    }

    /// Lets an added worker take requests, once every event loop listens to it. It may be gone by then.
    pub(crate) fn enable_worker(&mut self, worker: WorkerKey) {
        if self.find(worker).is_some_and(|worker| !worker.leaving) {
            self.refill(worker.index);
        }
    }

    /// A worker's process is gone. What it had not started goes to others; the rest is returned, to be
    /// answered with an error.
    pub(crate) fn remove_worker(&mut self, id: WorkerId, now: Instant) -> Option<Removed<P>> {
        self.now = now;
        let index = self.index_of(id)?;
        self.idle.retain(|&idle| idle != index);
        let mut worker = self.workers.remove(index);
        self.n_held -= worker.held.len();
        let mut started = Vec::new();
        let is_fresh = !worker.leaving && !worker.has_served;
        for held in worker.held.drain(..).rev() {
            if worker.port.take_back(held.slot, &held.request) {
                self.queue.push_front(held.request);
            } else {
                started.push((held.request.lane, held.request.id));
            }
        }
        if is_fresh && started.is_empty() {
            self.crash_loop.died(now);
        }
        self.dispatch();
        let Worker { pid, port, condemned, .. } = worker;
        Some(Removed { index, pid, port, started, condemned })
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn cancel(&mut self, lane: Lane, id: RequestId) -> Cancelled {
        if let Some(position) = self.queue.iter().position(|r| r.lane == lane && r.id == id) {
            self.queue.remove(position);
            return Cancelled::Forgotten;
        }
        let Some((index, position)) =
            self.workers.iter().find_map(|(index, worker)| Some((index, worker.position(lane, id)?)))
        else {
            return Cancelled::Unknown;
        };
        if self.take_from(index, position).is_none() {
            return Cancelled::Running(self.key_at(index));
        }
        self.dispatch();
        Cancelled::Forgotten
    }

    /// Whether no worker has begun to run the request.
    pub(crate) fn is_queued(&self, lane: Lane, id: RequestId) -> bool {
        let holder = self.workers.iter().find_map(|(_, worker)| Some((worker, worker.position(lane, id)?)));
        match holder {
            Some((worker, position)) => {
                let held = &worker.held[position];
                !worker.port.is_started(held.slot, &held.request)
            }
            None => self.queue.iter().any(|request| request.lane == lane && request.id == id),
        }
    }

    /// Requests that were handed over or wait.
    pub(crate) fn n_active(&self) -> usize {
        self.n_held + self.queue.len()
    }

    pub(crate) fn figures(&self) -> Figures {
        Figures {
            running: self.n_running(),
            starting: self.n_starting,
            idle: self.idle.len() as u32,
            active_requests: self.n_active() as u32,
        }
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

    /// What is said about a worker may come late: another one can have its index by then.
    fn find(&mut self, worker: WorkerKey) -> Option<&mut Worker<P>> {
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

    /// Gives a worker whose hands became freer what has waited longest.
    fn refill(&mut self, worker: usize) {
        let is_idle = self.workers[worker].held.is_empty();
        let has_nothing_to_do = is_idle && self.queue.is_empty();
        let patience = if has_nothing_to_do { Duration::ZERO } else { STALE };
        let taken_over = self.take_over_ahead(worker, patience);
        let entry = &mut self.workers[worker];
        if is_idle {
            entry.idle_since = self.now;
            self.idle.push(worker);
        } else {
            self.open.push_back((worker, entry.epoch));
        }
        if let Some(request) = taken_over
            && let Err(request) = self.hand_over(worker, request)
        {
            self.queue.push_front(request);
        }
        self.dispatch();
    }

    /// Takes back the request that has waited longest behind another worker's, when it has waited for at
    /// least `patience`.
    fn take_over_ahead(&mut self, worker: usize, patience: Duration) -> Option<Request> {
        while let Some(&(holder, lane, id)) = self.ahead.front() {
            let entry = self.workers.get(holder);
            let position = entry.and_then(|entry| entry.position(lane, id)).filter(|&position| position > 0);
            let (Some(entry), Some(position)) = (entry, position) else {
                self.ahead.pop_front();
                continue;
            };
            if holder == worker || self.now.duration_since(entry.held[position].since) < patience {
                return None;
            }
            self.ahead.pop_front();
            self.workers[holder].slow = !patience.is_zero();
            if let Some(request) = self.take_from(holder, position) {
                return Some(request);
            }
        }
        None
    }

    fn take_back_all(&mut self, worker: usize) {
        for position in (0..self.workers[worker].held.len()).rev() {
            if let Some(request) = self.take_from(worker, position) {
                self.queue.push_front(request);
            }
        }
    }

    /// Takes one request out of a worker's hands, if it was not started.
    fn take_from(&mut self, worker: usize, position: usize) -> Option<Request> {
        let entry = &mut self.workers[worker];
        let held = &entry.held[position];
        if !entry.port.take_back(held.slot, &held.request) {
            if !entry.port.is_started(held.slot, &held.request) {
                self.give_up_at(worker, &"a request is neither started nor waiting");
            }
            return None;
        }
        let held = entry.release(position);
        self.n_held -= 1;
        if !entry.leaving && !entry.held.is_empty() {
            self.open.push_back((worker, entry.epoch));
        } else if !entry.leaving {
            entry.idle_since = self.now;
            self.idle.push(worker);
        }
        Some(held.request)
    }

    fn hand_over_to_idle(&mut self) {
        let (Some(&worker), Some(request)) = (self.idle.last(), self.queue.pop_front()) else { return };
        if let Err(request) = self.hand_over(worker, request) {
            self.queue.push_front(request);
        }
    }

    /// Requests that a worker may hold, the one that it runs included.
    fn max_held(&self) -> usize {
        let run_time = self.run_time.expected().as_micros().max(1);
        1 + (AHEAD.as_micros() / run_time).clamp(1, MAX_AHEAD) as usize
    }

    fn dispatch(&mut self) {
        if self.is_held {
            return;
        }
        while !self.queue.is_empty() && self.n_held < self.bounds.in_progress {
            let Some(worker) = self.next_hand() else { return };
            let request = self.queue.pop_front().expect("the queue was just seen to hold one");
            if let Err(request) = self.hand_over(worker, request) {
                self.queue.push_front(request);
            }
        }
    }

    /// The worker that gets the next request: an idle one, or the most recently started with a free hand.
    fn next_hand(&mut self) -> Option<usize> {
        let n_busy = self.workers.len() - self.idle.len();
        if n_busy < self.n_processors || self.run_time.expected() >= SHORT {
            return self.idle.last().copied().or_else(|| self.next_open());
        }
        self.next_open().or_else(|| self.idle.last().copied())
    }

    /// The most recently started worker with a free hand.
    fn next_open(&mut self) -> Option<usize> {
        while let Some(&(worker, epoch)) = self.open.back() {
            match self.workers.get(worker) {
                Some(entry) if entry.epoch == epoch && entry.is_open(self.max_held()) => return Some(worker),
                _ => self.open.pop_back(),
            };
        }
        None
    }

    fn hand_over(&mut self, worker: usize, request: Request) -> Result<(), Request> {
        let entry = &mut self.workers[worker];
        let slot = entry.free_slot();
        if let Err(error) = entry.port.submit(slot, &request) {
            // A ring without room: the worker does not even read. It comes back when it has ended something.
            self.forget_hand(worker);
            if let SendError::Corrupt(violation) = error {
                self.give_up_at(worker, &violation);
            }
            return Err(request);
        }
        self.touched.push(worker);
        let (lane, id) = (request.lane, request.id);
        entry.held.push(Held::new(slot, request, self.now));
        entry.epoch = entry.epoch.wrapping_add(1);
        self.n_held += 1;
        if entry.held.len() == 1 {
            let idle = self.idle.pop();
            debug_assert_eq!(idle, Some(worker));
            self.open.push_back((worker, entry.epoch));
            self.compact_open();
        } else {
            let open = self.open.pop_back();
            debug_assert!(open.is_some_and(|(open, _)| open == worker));
            self.open.push_front((worker, entry.epoch));
            self.ahead.push_back((worker, lane, id));
        }
        Ok(())
    }

    fn forget_hand(&mut self, worker: usize) {
        if self.idle.last() == Some(&worker) {
            self.idle.pop();
        } else {
            self.open.pop_back();
        }
    }

    /// Void entries are dropped when they are popped; under light load nothing pops, so count them.
    fn compact_open(&mut self) {
        if self.open.len() > 16 + 2 * self.workers.len() {
            let workers = &self.workers;
            self.open.retain(|&(worker, epoch)| workers.get(worker).is_some_and(|w| w.epoch == epoch));
        }
    }
}

/// A worker that is gone.
#[derive(Debug)]
pub(crate) struct Removed<P> {
    pub(crate) index: usize,
    pub(crate) pid: u32,
    pub(crate) port: P,
    /// Requests that it had begun.
    pub(crate) started: Vec<(Lane, RequestId)>,
    /// Why it was to be killed.
    pub(crate) condemned: Option<Condemned>,
}

/// A request that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its buffer.
    pub(crate) payload: Vec<u8>,
    /// It took long, and nobody has said so yet.
    pub(crate) slow: Option<Finding>,
}

#[cfg(test)]
mod tests;
