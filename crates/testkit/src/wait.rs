//! Waiting for something to become true, never longer than a deadline.

use std::time::{Duration, Instant};

/// How long a test waits for what should take milliseconds, on a machine that is busy.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How often a condition is looked at.
const INTERVAL: Duration = Duration::from_millis(4);

/// Calls `attempt` until it returns something; panics with `what` after [`PATIENCE`].
#[track_caller]
pub fn eventually<T>(what: &str, attempt: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, attempt).unwrap_or_else(|| panic!("not within {PATIENCE:?}: {what}"))
}

/// Calls `attempt` until it returns something or `limit` is over.
pub fn within<T>(limit: Duration, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(found) = attempt() {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(INTERVAL);
    }
}
