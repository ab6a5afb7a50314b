//! Figures for `/status`. One set for each event loop, so that no two write to the same cache line.
//!
//! `/status` and the end of the router first let each event loop finish what it is doing, so that a client that has its
//! reply finds itself counted and logged.

pub(crate) mod connections;
pub(crate) mod exemplars;
pub(crate) mod fine_durations;
pub(crate) mod inner;
pub(crate) mod slow_requests;
pub(crate) mod traffic;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use corral_ipc::message::{DURATION_BOUNDS, DurationFigures, STATUS_CLASSES};

use self::inner::InnerCounters;
use self::slow_requests::SlowRequests;
use self::traffic::TrafficCounters;

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
    pub(crate) traffic: TrafficCounters,
    pub(crate) inner: InnerCounters,
    /// The slowest requests.
    pub(crate) slow: SlowRequests,
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

    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Adds counters of one event loop to the sums over all.
pub(crate) fn add_to(sums: &mut [u64], counters: &[Counter]) {
    sums.iter_mut().zip(counters).for_each(|(sum, counter)| *sum += counter.get());
}

/// Durations, counted by their length.
#[derive(Debug, Default)]
pub(crate) struct DurationCounts {
    counts: [Counter; DURATION_BOUNDS.len() + 1],
    micros: Counter,
}

impl DurationCounts {
    /// Counts one.
    pub(crate) fn note(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.counts[duration_range(micros)].add(1);
        self.micros.add(micros);
    }

    /// Adds all to those of other event loops.
    pub(crate) fn add_to(&self, sum: &mut DurationFigures) {
        add_to(&mut sum.counts, &self.counts);
        sum.micros = sum.micros.wrapping_add(self.micros.get());
    }
}

/// The place of a duration in microseconds among the ranges of `DURATION_BOUNDS`. Most are in the first one.
fn duration_range(micros: u64) -> usize {
    match micros <= DURATION_BOUNDS[0] {
        true => 0,
        false => DURATION_BOUNDS.partition_point(|bound| *bound < micros),
    }
}

/// The place of a status among `STATUS_CLASSES`. One that HTTP does not have says no good.
pub(crate) fn status_class(status: Option<u16>) -> usize {
    status.map_or(0, |status| usize::from(status / 100).clamp(1, STATUS_CLASSES.len() - 1))
}
