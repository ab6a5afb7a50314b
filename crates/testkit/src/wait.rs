//! Waiting for something to become true, never longer than a deadline.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for what should take milliseconds, on a machine that is busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

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
        thread::sleep(INTERVAL);
    }
}

/// Calls `beside` in a thread, again and again, until `act` is over or it says that it is done.
///
/// # Panics
/// As `act` does; the thread has ended by then.
pub fn meanwhile<T>(mut beside: impl FnMut() -> Beside + Send, act: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut last = Beside::Again;
            while last == Beside::Again && !is_over.load(Ordering::Relaxed) {
                last = beside();
            }
        });
        let _end = OnEnd(&is_over);
        act()
    })
}

/// Whether something that is done beside something else goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// The same is done again.
    Again,
    /// The same cannot be done any more.
    Done,
}

/// Sets a flag when it is dropped, also by a panic: a thread that looks at it must not run for ever.
#[derive(Debug)]
pub struct OnEnd<'a>(pub &'a AtomicBool);

impl Drop for OnEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
