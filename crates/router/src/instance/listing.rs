//! The workers of an instance one by one, and the end of one of them, for a person that asks.

use std::time::Instant;

use corral_channel::message;
use corral_ipc::message::{MOST_WORKERS, RunningRequest, WorkerId, WorkerStatus, WorkerUsage};

use super::app::AppInstance;
use super::pool::listing::{RunningFacts, WorkerFacts};
use crate::request::method::shown_method;
use crate::request::path_pattern::path_pattern;

impl AppInstance {
    /// The workers, as many as are told of at a time. Event loops need the lock: it is held for one worker at a time.
    pub(crate) fn workers(&self, now: Instant) -> Vec<WorkerStatus> {
        let places = self.pool.lock().places();
        let facts = places.into_iter().filter_map(|place| self.pool.lock().facts(place));
        facts.take(MOST_WORKERS).map(|facts| told(facts, now)).collect()
    }

    /// Gives a worker nothing more, and has it end after the requests that it has.
    pub(crate) fn drain(&self, worker: WorkerId, now: Instant) {
        let want_worker = {
            let mut pool = self.pool.lock();
            pool.drain(worker, now);
            pool.want_worker()
        };
        self.wake_workers();
        if want_worker {
            self.start_worker();
        }
    }
}

fn told(facts: WorkerFacts, now: Instant) -> WorkerStatus {
    let WorkerFacts { id, state, n_served, n_held, running } = facts;
    WorkerStatus {
        worker: id,
        pid: 0,
        state,
        requests: Some(n_served),
        in_progress: u32::try_from(n_held).unwrap_or(u32::MAX),
        request: running.and_then(|running| request(&running, now)),
        usage: WorkerUsage::default(),
    }
}

fn request(running: &RunningFacts, now: Instant) -> Option<RunningRequest> {
    let view = message::decode_request(&running.payload).ok()?;
    Some(RunningRequest {
        method: shown_method(view.head.method),
        path: path_pattern(view.head.target),
        script: String::from_utf8_lossy(&running.note).into_owned(),
        time: now.saturating_duration_since(running.begun),
    })
}
