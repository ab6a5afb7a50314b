//! Figures for `/status`. One set for each event loop, so that no two write to the same cache line.
//!
//! `/status` and the end of the router first let each event loop finish what it is doing, so that a client that has its
//! reply finds itself counted and logged.

use std::sync::atomic::{AtomicU64, Ordering};

/// Figures of one event loop; only that loop writes them.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct LoopCounters {
    pub(crate) accepted: Counter,
    pub(crate) closed: Counter,
    /// Connections of addresses that had too many.
    pub(crate) refused: Counter,
    /// Connections with a request in progress.
    pub(crate) active: Counter,
    pub(crate) requests: Counter,
    /// Datagrams that went nowhere.
    pub(crate) dropped_datagrams: Counter,
}

/// A number with a single writer.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.get().wrapping_add(n), Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, n: u64) {
        self.0.store(self.get().wrapping_sub(n), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
