//! The viewers of the stream and the past that they see, which outlives them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::past::Past;
use super::viewers::Viewers;

/// Both. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct EventHub {
    pub(crate) viewers: Viewers,
    past: Arc<Mutex<Past>>,
}

impl EventHub {
    /// Nothing can panic while the lock is held.
    pub(super) fn past(&self) -> MutexGuard<'_, Past> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
