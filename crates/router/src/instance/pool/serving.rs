//! A request in a pool: taken in, handed over, ended or given up.

use std::time::{Duration, Instant};

use corral_channel::{Lane, RequestId};

use super::Pool;
use super::pool_request::PoolRequest;
use super::port::PoolPort;
use super::verdict::Finding;
use super::worker::{ScriptTrace, WorkerKey};
use crate::storage::buffers::Rest;

/// How long a request waits ahead at most while another worker is idle.
pub(crate) const RESCUE: Duration = Duration::from_millis(2);

/// The worker reported something about a request that it does not hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotHeld;

/// A request that was not taken in.
#[derive(Debug)]
pub(crate) struct RejectedRequest {
    pub(crate) request: PoolRequest,
    pub(crate) reason: Rejection,
}

/// Why a request was not taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// Too many wait already.
    QueueFull,
    /// The application has no worker, none could be started, and it is too early to try again.
    NoWorker,
}

/// The state of a request that was cancelled.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CancelOutcome {
    /// No worker had started it; it is gone.
    Forgotten,
    /// This worker runs it and may be told.
    Running(WorkerKey),
    /// The request is not known here: it ended in the meantime.
    Unknown,
}

/// A request that has ended.
#[derive(Debug, Default)]
pub(crate) struct EndedRequest {
    /// The buffer that it was encoded in.
    pub(crate) payload: Vec<u8>,
    pub(crate) inline: Rest,
    /// The request took long, which was not logged yet.
    pub(crate) slow: Option<Finding>,
    /// How long it had waited for a worker, if that is known.
    pub(crate) waited: Option<Duration>,
    /// The worker's process; none if that is gone.
    pub(crate) pid: Option<u32>,
}

impl<P: PoolPort> Pool<P> {
    /// Takes a request in; it is handed over at once when a worker has room. Gives it back when too many
    /// wait already, or no worker is going to serve it.
    pub(crate) fn submit(&mut self, request: PoolRequest, now: Instant) -> Result<(), RejectedRequest> {
        self.now = now;
        if self.n_active() >= self.bounds.active {
            return Err(RejectedRequest { request, reason: Rejection::QueueFull });
        }
        if self.is_deserted() && !self.start_failures.allows_start(now) {
            return Err(RejectedRequest { request, reason: Rejection::NoWorker });
        }
        self.queue.push_back(request);
        self.dispatch();
        Ok(())
    }

    /// A worker that runs many requests at once has begun those that were sent: it has room for more.
    pub(crate) fn started(&mut self, worker: WorkerKey, now: Instant) {
        self.now = now;
        if let Some(entry) = self.find(worker) {
            entry.slow = false;
            self.dispatch();
        }
    }

    /// A request has ended after it ran for `run_time` microseconds: its worker has room again.
    pub(crate) fn done(
        &mut self,
        worker: WorkerKey,
        lane: Lane,
        id: RequestId,
        run_time: u32,
        now: Instant,
    ) -> Result<EndedRequest, NotHeld> {
        self.now = now;
        self.run_time.note(run_time);
        self.crash_loop.end();
        let n_at_once = self.n_at_once();
        // The end of its worker was heard of before that of its last requests, which have no worker any more. How long
        // they have waited was told then.
        let Some(entry) = self.find(worker) else { return Ok(EndedRequest::default()) };
        let position = entry.position(lane, id).ok_or(NotHeld)?;
        let mut held = entry.release(position);
        held.note_end(Duration::from_micros(run_time.into()), now);
        entry.note_begun(n_at_once, now);
        entry.slow = false;
        entry.n_served = entry.n_served.saturating_add(1);
        entry.last_end = now;
        let is_leaving = entry.leaving;
        self.n_held -= 1;
        let slow = self.bounds.was_slow(&self.workers[worker.index], &held, run_time);
        let pid = Some(self.workers[worker.index].pid);
        if is_leaving {
            // Its place among those in progress may be what another one waits for.
            self.dispatch();
        } else {
            self.refill(worker.index);
        }
        let waited = Some(held.waited());
        let PoolRequest { payload, inline, .. } = held.request;
        Ok(EndedRequest { payload, inline, slow, waited, pid })
    }

    /// A worker has said where a request is: kept in place of what it has said before. False when it does not run such
    /// a request.
    pub(crate) fn trace(&mut self, worker: WorkerKey, lane: Lane, id: RequestId, trace: ScriptTrace) -> bool {
        let Some(entry) = self.find(worker) else { return false };
        let Some(position) = entry.position(lane, id) else { return false };
        let held = &mut entry.held[position];
        if !held.is_started(&entry.port) {
            return false;
        }
        held.trace = Some(trace).filter(|trace| !trace.text.is_empty());
        true
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

    /// A request has become a connection that may last: it has no limits of time, and needs no payload. Returns that.
    pub(crate) fn upgraded(&mut self, worker: WorkerKey, lane: Lane, id: RequestId) -> Option<Vec<u8>> {
        let entry = self.find(worker)?;
        let position = entry.position(lane, id)?;
        let held = &mut entry.held[position];
        held.is_timeless = true;
        Some(std::mem::take(&mut held.request.payload))
    }

    /// The answer is not waited for any more.
    pub(crate) fn cancel(&mut self, lane: Lane, id: RequestId) -> CancelOutcome {
        if let Some(position) = self.queue.iter().position(|r| r.lane == lane && r.id == id) {
            self.queue.remove(position);
            return CancelOutcome::Forgotten;
        }
        let Some((index, position)) =
            self.workers.iter().find_map(|(index, worker)| Some((index, worker.position(lane, id)?)))
        else {
            return CancelOutcome::Unknown;
        };
        if self.take_from(index, position).is_none() {
            return CancelOutcome::Running(self.key_at(index));
        }
        self.dispatch();
        CancelOutcome::Forgotten
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

    /// Since when a worker has had the request that it runs, and its process; none while the request waits.
    pub(crate) fn running_since(&self, lane: Lane, id: RequestId) -> Option<(Instant, u32)> {
        self.workers.iter().find_map(|(_, worker)| {
            let held = &worker.held[worker.position(lane, id)?];
            held.is_started(&worker.port).then_some((held.since, worker.pid))
        })
    }

    /// Whether a worker runs the request, or will as soon as it looks.
    pub(crate) fn is_in_hand(&self, lane: Lane, id: RequestId) -> bool {
        let holder = self.workers.iter().find_map(|(_, worker)| Some((worker, worker.position(lane, id)?)));
        holder.is_some_and(|(worker, position)| {
            position < self.n_at_once() || worker.held[position].is_started(&worker.port)
        })
    }
}
