//! The workers of a pool one by one, for a person that asks. One at a time, so that requests wait for none of this.

use std::time::Instant;

use corral_ipc::message::{WorkerId, WorkerState};

use super::Pool;
use super::port::PoolPort;
use super::worker::{HeldRequest, PoolWorker, ScriptTrace};

/// A worker at one moment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WorkerFacts {
    pub(crate) id: WorkerId,
    pub(crate) state: WorkerState,
    /// Requests that have ended.
    pub(crate) n_served: u64,
    /// Requests that it was given and has not ended.
    pub(crate) n_held: usize,
    /// The one that it has run for longest.
    pub(crate) running: Option<RunningFacts>,
}

/// A request that runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RunningFacts {
    /// The encoded head.
    pub(crate) payload: Vec<u8>,
    /// The worker's note about what it runs.
    pub(crate) note: Vec<u8>,
    /// When it began.
    pub(crate) begun: Instant,
    /// Where it was, if the worker has said so.
    pub(crate) trace: Option<ScriptTrace>,
}

impl<P: PoolPort> Pool<P> {
    /// The places of the workers, of which `facts` tells.
    pub(crate) fn places(&self) -> Vec<usize> {
        self.workers.iter().map(|(index, _)| index).collect()
    }

    /// The worker at a place, unless it is gone.
    pub(crate) fn facts(&self, place: usize) -> Option<WorkerFacts> {
        let worker = self.workers.get(place)?;
        Some(WorkerFacts {
            id: worker.id,
            state: worker.state(),
            n_served: worker.n_served,
            n_held: worker.held.len(),
            running: worker.running_facts(self.n_at_once()),
        })
    }
}

impl<P: PoolPort> PoolWorker<P> {
    fn state(&self) -> WorkerState {
        if self.leaving {
            return WorkerState::Leaving;
        }
        if !self.is_here {
            return WorkerState::Starting;
        }
        if self.held.is_empty() { WorkerState::Idle } else { WorkerState::Busy }
    }

    /// A request that has become a connection has no head any more.
    fn running_facts(&self, n_at_once: usize) -> Option<RunningFacts> {
        let runs = |held: &&HeldRequest| !held.is_timeless && held.is_started(&self.port);
        let held = self.held.iter().find(runs)?;
        // A worker of one request at a time has begun it when the one before was over, if it had to wait for that.
        let begun = if n_at_once == 1 { held.since.max(self.last_end) } else { held.since };
        let (payload, trace) = (held.request.payload.clone(), held.trace.clone());
        Some(RunningFacts { payload, note: self.port.note(), begun, trace })
    }
}
