//! The choice of the worker that gets the next request: one with room, or one that may hold it ahead.

use std::time::Duration;

use corral_channel::SendError;

use super::Pool;
use super::pool_request::PoolRequest;
use super::port::PoolPort;
use super::worker::HeldRequest;

/// How long a request may wait behind another one before a worker that finishes earlier takes it over.
const STALE: Duration = Duration::from_millis(10);

/// Scripts that run for less than this do not repay waking a worker for want of a free processor.
const SHORT: Duration = Duration::from_micros(250);

/// Work that a worker may hold ahead of what it runs: about as much as it gets done before the router, on
/// a busy machine, is scheduled again.
const AHEAD: Duration = Duration::from_micros(150);

/// Requests that a worker may hold ahead at most.
const MAX_AHEAD: u128 = 7;

impl<P: PoolPort> Pool<P> {
    /// Gives a worker that has more room what has waited longest.
    pub(super) fn refill(&mut self, worker: usize) {
        let is_idle = self.workers[worker].held.is_empty();
        let has_nothing_to_do = self.workers[worker].held.len() < self.n_at_once() && self.queue.is_empty();
        let min_wait = if has_nothing_to_do { Duration::ZERO } else { STALE };
        let taken_over = self.take_over_ahead(worker, min_wait);
        let entry = &mut self.workers[worker];
        if is_idle {
            entry.idle_since = self.now;
            self.idle.push(worker);
        } else {
            self.note_open(worker);
        }
        if let Some(request) = taken_over
            && let Err(request) = self.hand_over(worker, request)
        {
            self.queue.push_front(request);
        }
        self.dispatch();
    }

    /// Takes back the request that has waited longest behind another worker's, when it has waited for at
    /// least `min_wait`.
    pub(super) fn take_over_ahead(&mut self, worker: usize, min_wait: Duration) -> Option<PoolRequest> {
        while let Some(&(holder, lane, id)) = self.ahead.front() {
            let entry = self.workers.get(holder);
            let position = entry
                .and_then(|entry| entry.position(lane, id))
                .filter(|&position| position >= self.n_at_once());
            let (Some(entry), Some(position)) = (entry, position) else {
                self.ahead.pop_front();
                continue;
            };
            if holder == worker || self.now.duration_since(entry.held[position].since) < min_wait {
                return None;
            }
            self.ahead.pop_front();
            self.workers[holder].slow = !min_wait.is_zero();
            if let Some(request) = self.take_from(holder, position) {
                return Some(request);
            }
        }
        None
    }

    pub(super) fn take_back_all(&mut self, worker: usize) {
        for position in (0..self.workers[worker].held.len()).rev() {
            if let Some(request) = self.take_from(worker, position) {
                self.queue.push_front(request);
            }
        }
    }

    /// Takes one request from a worker, if it was not started.
    pub(super) fn take_from(&mut self, worker: usize, position: usize) -> Option<PoolRequest> {
        let (n_at_once, now) = (self.n_at_once(), self.now);
        let entry = &mut self.workers[worker];
        let held = &entry.held[position];
        if !held.take_back(&entry.port) {
            if !held.is_started(&entry.port) {
                self.give_up_at(worker, &"a request is neither started nor waiting");
            }
            return None;
        }
        let held = entry.release(position);
        entry.note_begun(n_at_once, now);
        self.n_held -= 1;
        if !entry.leaving && !entry.held.is_empty() {
            self.note_open(worker);
        } else if !entry.leaving {
            entry.idle_since = self.now;
            self.idle.push(worker);
        }
        Some(held.request)
    }

    pub(super) fn hand_over_to_idle(&mut self) {
        let (Some(&worker), Some(request)) = (self.idle.last(), self.queue.pop_front()) else { return };
        if let Err(request) = self.hand_over(worker, request) {
            self.queue.push_front(request);
        }
    }

    /// Requests that a worker runs at once.
    pub(super) fn n_at_once(&self) -> usize {
        self.bounds.concurrency.n.get() as usize
    }

    /// Requests that a worker may hold, those that it runs included.
    fn max_held(&self) -> usize {
        if !self.bounds.concurrency.ahead {
            return self.n_at_once();
        }
        let run_time = self.run_time.expected().as_micros().max(1);
        self.n_at_once() + (AHEAD.as_micros() / run_time).clamp(1, MAX_AHEAD) as usize
    }

    pub(super) fn dispatch(&mut self) {
        if self.is_held {
            return;
        }
        while !self.queue.is_empty() && self.n_held < self.bounds.in_progress {
            let Some(worker) = self.next_free() else { return };
            let request = self.queue.pop_front().expect("the queue was just seen to hold one");
            if let Err(request) = self.hand_over(worker, request) {
                self.queue.push_front(request);
            }
        }
    }

    /// The worker that gets the next request: an idle one, or one that is busy and takes another.
    fn next_free(&mut self) -> Option<usize> {
        let n_busy = self.workers.len() - self.idle.len();
        if n_busy < self.n_processors || self.run_time.expected() >= SHORT {
            return self.idle.last().copied().or_else(|| self.next_open());
        }
        self.next_open().or_else(|| self.idle.last().copied())
    }

    /// The busy worker that takes the next one: the most recently started, or if they run several at once the one that
    /// has the fewest.
    fn next_open(&mut self) -> Option<usize> {
        let max_held = self.max_held();
        if self.n_at_once() > 1 {
            let open = self.workers.iter().filter(|(_, worker)| worker.is_open(max_held));
            return open.min_by_key(|(_, worker)| worker.held.len()).map(|(index, _)| index);
        }
        while let Some(&(worker, epoch)) = self.open.back() {
            match self.workers.get(worker) {
                Some(entry) if entry.epoch == epoch && entry.is_open(max_held) => return Some(worker),
                _ => self.open.pop_back(),
            };
        }
        None
    }

    /// A busy worker may take more.
    fn note_open(&mut self, worker: usize) {
        if self.n_at_once() == 1 {
            self.open.push_back((worker, self.workers[worker].epoch));
        }
    }

    fn hand_over(&mut self, worker: usize, request: PoolRequest) -> Result<(), PoolRequest> {
        let n_at_once = self.n_at_once();
        let entry = &mut self.workers[worker];
        let sent = entry.free_slot().ok_or(SendError::Full).and_then(|slot| {
            entry.port.submit(slot, &request)?;
            Ok(slot)
        });
        let slot = match sent {
            Ok(slot) => slot,
            Err(error) => {
                // No room: the worker does not even read. It comes back when it has ended something.
                self.forget_free(worker);
                if let SendError::Corrupt(violation) = error {
                    self.give_up_at(worker, &violation);
                }
                return Err(request);
            }
        };
        self.touched.push(worker);
        let (lane, id) = (request.lane, request.id);
        entry.held.push(HeldRequest::new(slot, request, self.now));
        entry.note_begun(n_at_once, self.now);
        entry.epoch = entry.epoch.wrapping_add(1);
        self.n_held += 1;
        let n_held = entry.held.len();
        if n_held == 1 {
            let idle = self.idle.pop();
            debug_assert_eq!(idle, Some(worker));
            self.note_open(worker);
            self.compact_open();
        } else if n_at_once == 1 {
            let open = self.open.pop_back();
            debug_assert!(open.is_some_and(|(open, _)| open == worker));
            self.open.push_front((worker, self.workers[worker].epoch));
        }
        if n_held > n_at_once {
            self.ahead.push_back((worker, lane, id));
        }
        Ok(())
    }

    fn forget_free(&mut self, worker: usize) {
        if self.idle.last() == Some(&worker) {
            self.idle.pop();
        } else if self.n_at_once() > 1 {
            self.workers[worker].slow = true;
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
