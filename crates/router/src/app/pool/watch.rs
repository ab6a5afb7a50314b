//! Requests that run for too long: found by looking at all workers a few times a second, so that the others pay
//! nothing for it.

use std::time::{Duration, Instant};

use corral_channel::{Lane, RequestId};
use corral_ipc::message::WorkerId;

use super::worker::{Held, Worker};
use super::{Pool, Port, WorkerKey};

/// A request that runs for longer than is right.
#[derive(Debug)]
pub(crate) struct Overlong {
    pub(crate) verdict: Verdict,
    pub(crate) worker: WorkerId,
    pub(crate) pid: u32,
    pub(crate) elapsed: Duration,
    /// The request, encoded.
    pub(crate) payload: Vec<u8>,
    /// What the worker says that it runs; empty if that is not known.
    pub(crate) note: Vec<u8>,
}

/// What follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is worth a line, and has ended.
    WasSlow,
    /// It is worth a line, and goes on.
    IsSlow,
    /// Its worker is to be killed.
    Kill,
}

/// Why a worker is to be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Condemned {
    /// The request that it ran.
    pub(crate) request: (Lane, RequestId),
    /// For so long.
    pub(crate) elapsed: Duration,
}

impl Overlong {
    pub(super) fn new<P>(
        verdict: Verdict,
        worker: &Worker<P>,
        held: &Held,
        elapsed: Duration,
        note: Vec<u8>,
    ) -> Self {
        let payload = held.request.payload.clone();
        Self { verdict, worker: worker.id, pid: worker.pid, elapsed, payload, note }
    }
}

impl<P: Port> Pool<P> {
    /// Looks at what runs; a request counts from when it was first seen to run. A worker that is to be killed
    /// gets nothing more, and what waits behind its request goes to others.
    pub(crate) fn watch(&mut self, now: Instant) -> Vec<Overlong> {
        let bounds = self.bounds.clone();
        let mut found = Vec::new();
        let mut condemned = Vec::new();
        for (index, worker) in self.workers.iter_mut().filter(|(_, worker)| worker.condemned.is_none()) {
            let Some(elapsed) = worker.time_of_running(now) else { continue };
            let held = &mut worker.held[0];
            let is_over = |limit: Option<Duration>| limit.is_some_and(|limit| elapsed >= limit);
            let verdict = if is_over(bounds.kill_after) {
                worker.condemned = Some(Condemned { request: (held.request.lane, held.request.id), elapsed });
                condemned.push(WorkerKey { index, id: worker.id });
                Verdict::Kill
            } else if is_over(bounds.slow) && !held.reported {
                Verdict::IsSlow
            } else {
                continue;
            };
            held.reported = true;
            let note = worker.port.note();
            found.push(Overlong::new(verdict, worker, &worker.held[0], elapsed, note));
        }
        for worker in condemned {
            self.leaving(worker, now);
        }
        found
    }
}

impl<P: Port> Worker<P> {
    /// For how long the first request in its hands has been seen to run.
    fn time_of_running(&mut self, now: Instant) -> Option<Duration> {
        let held = self.held.first_mut()?;
        if held.running_since.is_none() && self.port.is_started(held.slot, &held.request) {
            held.running_since = Some(now);
        }
        held.running_since.map(|since| now.duration_since(since))
    }
}
