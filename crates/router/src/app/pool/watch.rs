//! Workers that run one request for too long or use too much memory: found by looking at all workers a few times
//! a second, so that requests pay nothing for it.

use std::time::{Duration, Instant};

use corral_channel::{Lane, RequestId};
use corral_ipc::message::WorkerId;

use super::worker::{Held, Worker};
use super::{Pool, Port};

/// Something about a worker that is worth a line, or its end.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    pub(crate) worker: WorkerId,
    pub(crate) pid: u32,
    /// The request that it runs, encoded; empty if it runs none.
    pub(crate) payload: Vec<u8>,
    /// What the worker says that it runs; empty if that is not known.
    pub(crate) note: Vec<u8>,
}

/// What was found, and so what follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A request took this long, and has ended.
    WasSlow(Duration),
    /// A request has taken this long, and goes on.
    IsSlow(Duration),
    /// The worker uses so many bytes, and leaves after its request.
    Replace(u64),
    /// The worker is to be killed.
    Kill(Excess),
}

/// What a worker has had too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excess {
    /// Of time for one request.
    Time(Duration),
    /// Of memory, in bytes.
    Memory(u64),
}

/// Why a worker is to be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Condemned {
    /// The request that it ran.
    pub(crate) request: Option<(Lane, RequestId)>,
    pub(crate) excess: Excess,
}

impl Finding {
    pub(super) fn new<P>(verdict: Verdict, worker: &Worker<P>, held: Option<&Held>, note: Vec<u8>) -> Self {
        let payload = held.map_or_else(Vec::new, |held| held.request.payload.clone());
        Self { verdict, worker: worker.id, pid: worker.pid, payload, note }
    }
}

impl<P: Port> Pool<P> {
    /// Looks at what runs; a request counts from when it was first seen to run.
    pub(crate) fn watch(&mut self, now: Instant) -> Vec<Finding> {
        let bounds = self.bounds.clone();
        let mut found = Vec::new();
        let mut overdue = Vec::new();
        for (index, worker) in self.workers.iter_mut().filter(|(_, worker)| worker.condemned.is_none()) {
            let Some(elapsed) = worker.time_of_running(now) else { continue };
            let held = &mut worker.held[0];
            let is_over = |limit: Option<Duration>| limit.is_some_and(|limit| elapsed >= limit);
            if is_over(bounds.kill_after) {
                overdue.push((index, Excess::Time(elapsed)));
            } else if is_over(bounds.slow) && !held.reported {
                held.reported = true;
                found.push(worker.finding(Verdict::IsSlow(elapsed)));
            }
        }
        found.extend(overdue.into_iter().map(|(index, excess)| self.condemn(index, excess, now)));
        found
    }

    /// The workers whose memory is bounded. One that has had no request yet is as small as they get.
    pub(crate) fn growing(&self) -> Vec<(WorkerId, u32)> {
        let growing =
            self.workers.iter().filter(|(_, worker)| worker.was_used() && worker.condemned.is_none());
        growing.map(|(_, worker)| (worker.id, worker.pid)).collect()
    }

    /// Bounds the memory of workers that use so many bytes.
    pub(crate) fn weigh(&mut self, used: &[(WorkerId, u64)], now: Instant) -> Vec<Finding> {
        let is_over =
            |limit: Option<std::num::NonZeroU64>, used| limit.is_some_and(|limit| used > limit.get());
        let memory = self.bounds.memory;
        let mut found = Vec::new();
        for &(id, used) in used {
            let Some(index) = self.index_of(id) else { continue };
            let worker = &self.workers[index];
            if is_over(memory.hard, used) && worker.condemned.is_none() {
                found.push(self.condemn(index, Excess::Memory(used), now));
            } else if is_over(memory.soft, used) && !worker.leaving {
                found.push(worker.finding(Verdict::Replace(used)));
                self.dismiss(index, now);
            }
        }
        found
    }

    /// A worker that is to be killed gets nothing more, and what waits behind its request goes to others.
    fn condemn(&mut self, index: usize, excess: Excess, now: Instant) -> Finding {
        let worker = &mut self.workers[index];
        let request = worker.running().map(|held| (held.request.lane, held.request.id));
        worker.condemned = Some(Condemned { request, excess });
        worker.held.iter_mut().take(1).for_each(|held| held.reported = true);
        let finding = worker.finding(Verdict::Kill(excess));
        let key = self.key_at(index);
        self.leaving(key, now);
        finding
    }
}

impl<P: Port> Worker<P> {
    fn finding(&self, verdict: Verdict) -> Finding {
        let running = self.running();
        let note = if running.is_some() { self.port.note() } else { Vec::new() };
        Finding::new(verdict, self, running, note)
    }

    fn running(&self) -> Option<&Held> {
        self.held.first().filter(|held| self.port.is_started(held.slot, &held.request))
    }

    /// For how long the first request in its hands has been seen to run.
    pub(super) fn time_of_running(&mut self, now: Instant) -> Option<Duration> {
        let held = self.held.first_mut()?;
        if held.running_since.is_none() && self.port.is_started(held.slot, &held.request) {
            held.running_since = Some(now);
        }
        held.running_since.map(|since| now.duration_since(since))
    }
}
