//! Responses that cannot be put into files: worth a line, but not one for each of them.

use std::cell::Cell;
use std::io;
use std::time::{Duration, Instant};

/// They are told of this often at most, by each event loop.
const INTERVAL: Duration = Duration::from_secs(60);

thread_local! {
    static TOLD: Cell<Option<Instant>> = const { Cell::new(None) };
}

pub(super) fn report(error: &io::Error) {
    let now = Instant::now();
    if TOLD.get().is_none_or(|told| now.saturating_duration_since(told) >= INTERVAL) {
        TOLD.set(Some(now));
        tracing::error!("store a response: {error}; workers wait for slow clients meanwhile");
    }
}
