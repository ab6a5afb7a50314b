//! Counts of the requests of an application, by status and duration. Each event loop has a set of its own, so that no
//! two write to the same cache line.

use std::sync::Arc;
use std::time::Duration;

use corral_ipc::message::{DurationFigures, STATUS_CLASSES};
use parking_lot::Mutex;

use crate::counters::{Counter, DurationCounts, status_class};

/// The figures of one event loop; only that loop writes them.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct RequestCounts {
    by_status: [Counter; STATUS_CLASSES.len()],
    durations: DurationCounts,
}

impl RequestCounts {
    /// Counts a request that is over. One that became another protocol lasted for as long as its client liked.
    pub(super) fn note(&self, status: Option<u16>, took: Duration) {
        self.by_status[status_class(status)].add(1);
        if status != Some(101) {
            self.durations.note(took);
        }
    }
}

/// The figures of all event loops.
#[derive(Debug, Default)]
pub(super) struct AllRequestCounts(Mutex<Vec<Arc<RequestCounts>>>);

/// Sums over all event loops.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct RequestFigures {
    /// By `STATUS_CLASSES`.
    pub(super) by_status: [u64; STATUS_CLASSES.len()],
    pub(super) durations: DurationFigures,
}

impl AllRequestCounts {
    /// A set for one more event loop.
    pub(super) fn add(&self) -> Arc<RequestCounts> {
        let counts = Arc::<RequestCounts>::default();
        self.0.lock().push(Arc::clone(&counts));
        counts
    }

    pub(super) fn sum(&self) -> RequestFigures {
        let mut sum = RequestFigures::default();
        for counts in &*self.0.lock() {
            sum.by_status.iter_mut().zip(&counts.by_status).for_each(|(sum, counter)| *sum += counter.get());
            counts.durations.add_to(&mut sum.durations);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_loops_are_added_up() {
        let all = AllRequestCounts::default();
        let (one, two) = (all.add(), all.add());
        let second = Duration::from_secs(1);
        one.note(Some(200), second);
        one.note(Some(500), second);
        two.note(Some(503), second);
        two.note(None, second);
        two.note(Some(101), Duration::from_secs(3600));
        let figures = all.sum();
        assert_eq!(figures.by_status, [1, 1, 1, 0, 0, 2]);
        assert_eq!(figures.durations.micros, 4_000_000);
        assert_eq!(figures.durations.counts.iter().sum::<u64>(), 4);
    }
}
