//! How one of several event loops gets its requests.

use std::sync::Arc;

use corral_worker::{RequestKey, complain};
use pyo3::prelude::*;

use super::queue::SharedQueue;
use super::requests::LoopRequests;
use super::scope::Scopes;
use super::shared_channel::{SharedChannel, lock};
use crate::errors;

/// The place of one loop at the queue, and its requests.
#[pyclass(frozen, module = "corral")]
pub(super) struct LoopInbox {
    channel: SharedChannel,
    queue: SharedQueue,
    idx: usize,
    requests: LoopRequests,
}

impl LoopInbox {
    pub(super) fn new(channel: &SharedChannel, queue: &SharedQueue, idx: usize, scopes: Scopes) -> Self {
        let requests = LoopRequests::new(channel, scopes, Some(queue.clone()));
        Self { channel: Arc::clone(channel), queue: queue.clone(), idx, requests }
    }

    /// Whether the request runs from now on.
    fn begin(&self, py: Python<'_>, server: &Bound<'_, PyAny>, key: RequestKey, payload: &[u8]) -> bool {
        if lock(&self.channel).is_gone(key) {
            // It was while the request waited.
            lock(&self.channel).finish(key);
            return false;
        }
        self.requests.begin(py, server, key, payload).unwrap_or_else(|error| {
            complain(format_args!("a request cannot be begun: {}", errors::traceback(py, &error)));
            lock(&self.channel).abort(key);
            false
        })
    }
}

#[pymethods]
impl LoopInbox {
    /// Takes what has come for this loop, and one request. True if it is to come back after every other task in it had
    /// a turn.
    fn take(&self, py: Python<'_>, server: &Bound<'_, PyAny>) -> PyResult<bool> {
        let taken = self.queue.lock().take(self.idx);
        for key in taken.changed {
            if let Err(error) = self.requests.change(py, key) {
                complain(format_args!("an event is lost: {}", errors::traceback(py, &error)));
            }
        }
        if let Some((key, payload)) = taken.request
            && !self.begin(py, server, key, &payload)
        {
            self.queue.lock().end(key);
            if lock(&self.channel).is_leaving() {
                server.call_method0(pyo3::intern!(py, "look"))?;
            }
        }
        self.requests.forget_ended();
        Ok(taken.has_more)
    }

    /// Lets go of what belongs to requests that have ended.
    fn forget_ended(&self) -> bool {
        self.requests.forget_ended();
        self.requests.are_running()
    }
}
