//! Which worker of an application gets which request. Pure: ports stand for the channels, time comes in.
//!
//! A worker has as many *hands* as it runs requests at once. An idle worker is preferred, the most recently used one
//! first, so that spare ones can retire; then the one that has the fewest, of those with a free hand. Without one, a busy worker may hold requests *ahead*, so that it goes on without waiting for the router
//! to be scheduled: one, or as many short ones as make up `hands::AHEAD`. A request that waits ahead is taken
//! back when another worker has nothing to do, or when it has waited behind a slow one for longer than
//! `hands::STALE`. Everything else waits in one queue, first come, first served.
//!
//! There is one case in which an idle worker is left asleep: every processor has a busy worker already, and
//! the scripts are so short that waiting for one costs less than waking another. If a script turns out
//! to be longer after all, `rescue` gives what waits behind it to the idle worker.

mod bounds;
mod broken;
mod crash_loop;
mod growth;
mod hands;
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
use self::worker::Worker;
pub(crate) use self::worker::WorkerKey;
use crate::storage::buffers::Rest;

/// How long a request waits ahead at most while another worker is idle.
pub(crate) const RESCUE: Duration = Duration::from_millis(2);

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
    /// The worker is to be killed.
    fn condemn(&self, _condemned: Condemned) {}
}

/// A request as it waits for a worker: encoded, and addressed to the event loop that asked.
#[derive(Debug)]
pub(crate) struct Request {
    /// The event loop that gets the response.
    pub(crate) lane: Lane,
    /// Unique among the requests of its lane.
    pub(crate) id: RequestId,
    /// The encoded head.
    pub(crate) payload: Vec<u8>,
    /// The piece of the body that travels with it.
    pub(crate) inline: Rest,
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
    /// turn it is the first. Entries of an older epoch are void. Unused if workers have several hands.
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

    /// A worker with many hands has begun what was sent to it: there is room for more.
    pub(crate) fn started(&mut self, worker: WorkerKey, now: Instant) {
        self.now = now;
        if let Some(entry) = self.find(worker) {
            entry.slow = false;
            self.dispatch();
        }
    }

    pub(crate) fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Has other bounds from now on. Its workers speak of themselves, and all say the same; whatever does not when
    /// there are some already is not believed.
    pub(crate) fn set_bounds(&mut self, bounds: Bounds) {
        if self.workers.is_empty() {
            self.bounds = bounds;
        }
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
        // The end of its worker was heard of before that of its last requests, which nobody holds any more.
        let Some(entry) = self.find(worker) else { return Ok(Ended::default()) };
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
        let Request { payload, inline, .. } = held.request;
        Ok(Ended { payload, inline, slow })
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
        let Some(entry) = self.find(worker) else { return };
        entry.is_here = true;
        if !entry.leaving {
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
            if held.take_back(&worker.port) {
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

    /// A request has become a connection that may last: it has no limits of time, and needs no payload. Returns that.
    pub(crate) fn upgraded(&mut self, worker: WorkerKey, lane: Lane, id: RequestId) -> Option<Vec<u8>> {
        let entry = self.find(worker)?;
        let position = entry.position(lane, id)?;
        let held = &mut entry.held[position];
        held.is_timeless = true;
        Some(std::mem::take(&mut held.request.payload))
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

    /// The worker that has the request.
    pub(crate) fn holder(&self, lane: Lane, id: RequestId) -> Option<WorkerKey> {
        let (index, _) = self.workers.iter().find(|(_, worker)| worker.position(lane, id).is_some())?;
        Some(self.key_at(index))
    }

    /// Whether no worker has begun to run the request.
    pub(crate) fn is_queued(&self, lane: Lane, id: RequestId) -> bool {
        let holder = self.workers.iter().find_map(|(_, worker)| Some((worker, worker.position(lane, id)?)));
        match holder {
            Some((worker, position)) => !worker.held[position].is_started(&worker.port),
            None => self.queue.iter().any(|request| request.lane == lane && request.id == id),
        }
    }

    /// Whether a worker has a hand for the request, which it may not have begun yet.
    pub(crate) fn is_in_hand(&self, lane: Lane, id: RequestId) -> bool {
        let holder = self.workers.iter().find_map(|(_, worker)| Some((worker, worker.position(lane, id)?)));
        holder.is_some_and(|(worker, position)| {
            position < self.n_hands() || worker.held[position].is_started(&worker.port)
        })
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
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// What it was encoded in.
    pub(crate) payload: Vec<u8>,
    pub(crate) inline: Rest,
    /// It took long, and nobody has said so yet.
    pub(crate) slow: Option<Finding>,
}

#[cfg(test)]
mod tests;
