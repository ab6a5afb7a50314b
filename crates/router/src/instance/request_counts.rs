//! Counts of the requests of an application: all, those that failed, and the time that they took. Each event loop has a
//! set of its own, so that no two write to the same cache line.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::counters::Counter;

/// The figures of one event loop; only that loop writes them.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct RequestCounts {
    total: Counter,
    failed: Counter,
    micros: Counter,
}

impl RequestCounts {
    /// Counts a request that is over. One that became another protocol lasted for as long as its client liked.
    pub(super) fn note(&self, status: Option<u16>, took: Duration) {
        self.total.add(1);
        match status {
            Some(101) => return,
            Some(500..) => self.failed.add(1),
            _ => {}
        }
        self.micros.add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }
}

/// The figures of all event loops.
#[derive(Debug, Default)]
pub(super) struct AllRequestCounts(Mutex<Vec<Arc<RequestCounts>>>);

/// Sums over all event loops.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestFigures {
    pub(super) total: u64,
    pub(super) failed: u64,
    pub(super) time: Duration,
}

impl AllRequestCounts {
    /// A set for one more event loop.
    pub(super) fn add(&self) -> Arc<RequestCounts> {
        let counts = Arc::<RequestCounts>::default();
        self.0.lock().push(Arc::clone(&counts));
        counts
    }

    pub(super) fn sum(&self) -> RequestFigures {
        let all = self.0.lock();
        let sum = |figure: fn(&RequestCounts) -> &Counter| {
            all.iter().map(|counts| figure(counts).get()).fold(0, u64::wrapping_add)
        };
        RequestFigures {
            total: sum(|counts| &counts.total),
            failed: sum(|counts| &counts.failed),
            time: Duration::from_micros(sum(|counts| &counts.micros)),
        }
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
        two.note(Some(404), second);
        two.note(None, second);
        two.note(Some(101), 1000 * second);
        assert_eq!(all.sum(), RequestFigures { total: 5, failed: 1, time: 4 * second });
    }
}
