//! The requests of an event loop that have ended, until the loop looks after them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corral_worker::RequestKey;

use super::queue::SharedQueue;

/// Requests that have ended, and whose objects are still there.
#[derive(Default)]
pub(super) struct EndedRequests {
    keys: Mutex<Vec<RequestKey>>,
    /// Counts the running requests of each of several loops.
    queue: Option<SharedQueue>,
}

impl EndedRequests {
    /// With a queue, that of one of several loops.
    pub(super) fn new(queue: Option<SharedQueue>) -> Arc<Self> {
        Arc::new(Self { queue, ..Self::default() })
    }

    pub(super) fn add(&self, key: RequestKey) {
        self.keys().push(key);
        if let Some(queue) = &self.queue {
            queue.lock().end(key);
        }
    }

    /// Takes those that have been added since the last time.
    pub(super) fn take(&self) -> Vec<RequestKey> {
        std::mem::take(&mut *self.keys())
    }

    fn keys(&self) -> MutexGuard<'_, Vec<RequestKey>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
