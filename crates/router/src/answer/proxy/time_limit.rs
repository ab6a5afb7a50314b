//! The time that a server has for something, all that it says meanwhile included.

use std::time::{Duration, Instant};

/// Begins with the first look at it.
#[derive(Debug, Default)]
pub(super) struct TimeLimit {
    due: Option<Instant>,
}

impl TimeLimit {
    /// How much is left of this time.
    pub(super) fn left(&mut self, limit: Duration, now: Instant) -> Duration {
        self.due.get_or_insert(now + limit).saturating_duration_since(now)
    }
}
