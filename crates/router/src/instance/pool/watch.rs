//! Workers that run one request for too long or use too much memory: found by looking at all workers a few times
//! a second, so that requests pay nothing for it.

use std::time::{Duration, Instant};

use corral_ipc::message::{EndCause, WorkerId};
use smallvec::SmallVec;

use super::Pool;
use super::port::PoolPort;
use super::verdict::{Finding, KillReason, WorkerExcess, WorkerVerdict};
use super::worker::{HeldRequest, PoolWorker, WorkerKey};

impl<P: PoolPort> Pool<P> {
    /// Looks at what runs; a request counts from when it was first seen to run.
    pub(crate) fn watch(&mut self, now: Instant) -> Vec<Finding> {
        let (slow, kill_after) = (self.bounds.slow, self.bounds.kill_after);
        let mut found = Vec::new();
        let mut overdue = Vec::new();
        for (index, worker) in self.workers.iter_mut().filter(|(_, worker)| worker.kill_reason.is_none()) {
            let times = worker.times_of_running(now);
            let is_over = |limit: Option<Duration>, elapsed| limit.is_some_and(|limit| elapsed >= limit);
            if let Some(&(position, elapsed)) =
                times.iter().find(|(_, elapsed)| is_over(kill_after, *elapsed))
            {
                overdue.push((index, position, WorkerExcess::Time(elapsed)));
                continue;
            }
            for (position, elapsed) in times {
                if is_over(slow, elapsed) && !worker.held[position].reported {
                    worker.held[position].reported = true;
                    found.push(worker.finding(WorkerVerdict::IsSlow(elapsed), position));
                }
            }
        }
        let kill_reason =
            overdue.into_iter().map(|(index, position, excess)| self.condemn(index, position, excess, now));
        found.extend(kill_reason);
        found
    }

    /// The workers whose memory is bounded. One that has had no request yet is as small as they get.
    pub(crate) fn growing(&self) -> Vec<(WorkerId, u32)> {
        let growing =
            self.workers.iter().filter(|(_, worker)| worker.was_used() && worker.kill_reason.is_none());
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
            if is_over(memory.hard, used) && worker.kill_reason.is_none() {
                found.push(self.condemn(index, 0, WorkerExcess::Memory(used), now));
            } else if is_over(memory.soft, used) && !worker.leaving {
                found.push(worker.finding(WorkerVerdict::Replace(used), 0));
                self.dismiss(index, EndCause::Memory, now);
            }
        }
        found
    }

    /// Whether a worker takes nothing more, or is gone.
    pub(crate) fn is_leaving(&mut self, worker: WorkerKey) -> bool {
        self.find(worker).is_none_or(|worker| worker.leaving)
    }

    /// A worker that is to be killed, for its request at `position`, gets nothing more, and what waits behind its
    /// requests goes to others.
    fn condemn(&mut self, index: usize, position: usize, excess: WorkerExcess, now: Instant) -> Finding {
        let worker = &mut self.workers[index];
        let request = worker.running(position).map(|held| (held.request.lane, held.request.id));
        let kill_reason = KillReason { request, excess };
        worker.kill_reason = Some(kill_reason);
        worker.port.condemn(kill_reason);
        if let Some(held) = worker.held.get_mut(position) {
            held.reported = true;
        }
        let finding = worker.finding(WorkerVerdict::Kill(excess), position);
        let key = self.key_at(index);
        self.leaving(key, now);
        finding
    }
}

impl<P: PoolPort> PoolWorker<P> {
    fn finding(&self, verdict: WorkerVerdict, position: usize) -> Finding {
        let running = self.running(position);
        let note = if running.is_some() { self.port.note() } else { Vec::new() };
        self.found(verdict, running, note)
    }

    fn running(&self, position: usize) -> Option<&HeldRequest> {
        self.held.get(position).filter(|held| held.is_started(&self.port))
    }

    /// For how long each request that it has has been seen to run, with its position.
    fn times_of_running(&mut self, now: Instant) -> SmallVec<[(usize, Duration); 2]> {
        let port = &self.port;
        let times = self.held.iter_mut().map(|held| held.time_of_running(port, now));
        times.enumerate().filter_map(|(position, time)| Some((position, time?))).collect()
    }

    /// The same of the one that it has had for longest.
    pub(super) fn time_of_running(&mut self, now: Instant) -> Option<Duration> {
        self.held.first_mut()?.time_of_running(&self.port, now)
    }
}

impl HeldRequest {
    fn time_of_running<P: PoolPort>(&mut self, port: &P, now: Instant) -> Option<Duration> {
        if self.is_timeless {
            return None;
        }
        if self.running_since.is_none() && self.is_started(port) {
            self.running_since = Some(now);
        }
        self.running_since.map(|since| now.duration_since(since))
    }
}
