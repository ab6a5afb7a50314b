//! A worker as its pool sees it: what it holds and whether it takes more.

use std::time::{Duration, Instant};

use corral_channel::{Lane, N_SLOTS, RequestId, RequestSlot};
use corral_ipc::message::WorkerId;
use corral_sys::usage::ProcessUsage;
use smallvec::SmallVec;

use super::pool_request::PoolRequest;
use super::port::PoolPort;
use super::verdict::{Finding, KillReason, WorkerVerdict};

/// A request that a worker has.
#[derive(Debug)]
pub(super) struct HeldRequest {
    /// `None` once it is known that the worker has started it, and another request needed the slot.
    slot: Option<RequestSlot>,
    pub(super) request: PoolRequest,
    pub(super) since: Instant,
    /// When nothing was before it any more.
    pub(super) begun: Option<Instant>,
    /// When it was first seen to run.
    pub(super) running_since: Option<Instant>,
    /// The log has said that the request takes long.
    pub(super) reported: bool,
    /// Where the request was when the worker has said so last.
    pub(super) trace: Option<ScriptTrace>,
    /// The request may take as long as it likes.
    pub(super) is_timeless: bool,
}

/// Where a request was at a moment, in the words of its worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptTrace {
    /// Any bytes, at most [`corral_channel::MAX_TRACE`].
    pub(crate) text: Box<[u8]>,
    /// When the router has heard it.
    pub(crate) taken: Instant,
}

impl HeldRequest {
    pub(super) fn new(slot: RequestSlot, request: PoolRequest, since: Instant) -> Self {
        Self {
            slot: Some(slot),
            request,
            since,
            begun: None,
            running_since: None,
            reported: false,
            trace: None,
            is_timeless: false,
        }
    }

    /// How long it has waited for a worker that runs it.
    pub(super) fn waited(&self) -> Duration {
        self.begun.unwrap_or(self.since).saturating_duration_since(self.request.arrived)
    }

    /// The request has ended after it ran for so long. If nothing is known to have ended before it, the end of what
    /// did was for another event loop, which has not heard of it yet.
    pub(super) fn note_end(&mut self, run_time: Duration, now: Instant) {
        let began = now.checked_sub(run_time).unwrap_or(now);
        self.begun.get_or_insert(began.max(self.since));
    }

    /// Whether the worker has begun to run it.
    pub(super) fn is_started<P: PoolPort>(&self, port: &P) -> bool {
        self.slot.is_none_or(|slot| port.is_started(slot, &self.request))
    }

    /// Takes it back if it was not started; false when it was.
    pub(super) fn take_back<P: PoolPort>(&self, port: &P) -> bool {
        self.slot.is_some_and(|slot| port.take_back(slot, &self.request))
    }
}

/// Which worker: its place among the others, which another one takes when it is gone, and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorkerKey {
    pub(crate) index: usize,
    pub(crate) id: WorkerId,
}

/// A worker process.
#[derive(Debug)]
pub(super) struct PoolWorker<P> {
    pub(super) id: WorkerId,
    pub(super) pid: u32,
    pub(super) port: P,
    /// In the order in which they were handed over; as many of the first as it runs at once are running.
    pub(super) held: SmallVec<[HeldRequest; 2]>,
    /// Every event loop listens to it.
    pub(super) is_here: bool,
    /// No more requests for this one: it was told to quit, or said that it leaves.
    pub(super) leaving: bool,
    /// The worker broke the rules of the channel and is to be killed for that.
    pub(super) broken: bool,
    /// The worker kept a request waiting for too long: it gets nothing ahead until it has ended what it runs.
    pub(super) slow: bool,
    /// The worker is to be killed, and this is why.
    pub(super) kill_reason: Option<KillReason>,
    pub(super) idle_since: Instant,
    /// Counts the changes of `held`: tells whether an entry of the pool's `open` is still true.
    pub(super) epoch: u32,
    next_slot: usize,
    /// Requests that have ended.
    pub(super) n_served: u64,
    /// When the last of them has.
    pub(super) last_end: Instant,
    /// The resources that its process used when that was looked at last.
    pub(super) usage: Option<(Instant, ProcessUsage)>,
}

impl<P> PoolWorker<P> {
    pub(super) fn new(id: WorkerId, pid: u32, port: P, now: Instant) -> Self {
        Self {
            id,
            pid,
            port,
            held: SmallVec::new(),
            is_here: false,
            leaving: false,
            broken: false,
            slow: false,
            kill_reason: None,
            idle_since: now,
            epoch: 0,
            next_slot: 0,
            n_served: 0,
            last_end: now,
            usage: None,
        }
    }

    pub(super) fn position(&self, lane: Lane, id: RequestId) -> Option<usize> {
        // Of many at once, those that have just come end first; the others are open for long.
        self.held.iter().rposition(|held| held.request.lane == lane && held.request.id == id)
    }

    /// Whether it is busy and may take one more ahead.
    pub(super) fn is_open(&self, max_held: usize) -> bool {
        !self.leaving && !self.slow && (1..max_held).contains(&self.held.len())
    }

    /// Whether it takes requests as soon as every event loop listens to it.
    pub(super) fn is_arriving(&self) -> bool {
        !self.is_here && !self.leaving
    }

    /// Whether it was ever given a request.
    pub(super) fn was_used(&self) -> bool {
        self.epoch != 0
    }

    /// The last of the requests that it runs at once, if it has as many, may have become one of them now.
    pub(super) fn note_begun(&mut self, n_at_once: usize, now: Instant) {
        let last = self.held.len().min(n_at_once).checked_sub(1);
        if let Some(held) = last.and_then(|last| self.held.get_mut(last)) {
            held.begun.get_or_insert(now);
        }
    }

    pub(super) fn release(&mut self, position: usize) -> HeldRequest {
        self.epoch = self.epoch.wrapping_add(1);
        self.held.remove(position)
    }

    /// The finding about it, with a request that it holds or has held.
    pub(super) fn found(&self, verdict: WorkerVerdict, held: Option<&HeldRequest>, note: Vec<u8>) -> Finding {
        let payload = held.map_or_else(Vec::new, |held| held.request.payload.clone());
        Finding { verdict, worker: self.id, pid: self.pid, payload, note }
    }
}

impl<P: PoolPort> PoolWorker<P> {
    /// A slot that holds no request that was not started. The oldest one comes first: requests that were taken back
    /// again and again must not come round to the slot of the one that runs meanwhile.
    pub(super) fn free_slot(&mut self) -> Option<RequestSlot> {
        self.next_free_slot().or_else(|| {
            let port = &self.port;
            self.held.iter_mut().filter(|held| held.is_started(port)).for_each(|held| held.slot = None);
            self.next_free_slot()
        })
    }

    fn next_free_slot(&mut self) -> Option<RequestSlot> {
        let mut used = [false; N_SLOTS];
        self.held.iter().filter_map(|held| held.slot).for_each(|slot| used[slot.index()] = true);
        let number = (0..N_SLOTS).map(|n| (self.next_slot + n) % N_SLOTS).find(|&number| !used[number])?;
        self.next_slot = (number + 1) % N_SLOTS;
        RequestSlot::new(number)
    }
}
