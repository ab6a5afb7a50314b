//! Spans that were lost, in the whole process: telemetry comes and goes with configurations.

use std::sync::atomic::{AtomicU64, Ordering};

static N_LOST: AtomicU64 = AtomicU64::new(0);

/// How many spans were lost.
pub(crate) fn n_lost() -> u64 {
    N_LOST.load(Ordering::Relaxed)
}

/// Counts spans that found no place in the queue, or that could not be sent.
pub(super) fn count(n: u64) {
    N_LOST.fetch_add(n, Ordering::Relaxed);
}
