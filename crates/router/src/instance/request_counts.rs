//! Counts of the requests of an application, by status and duration. Each event loop has a set of its own, so that no
//! two write to the same cache line.

use std::time::Duration;

use corral_channel::Lane;
use corral_ipc::message::{DurationFigures, QUEUE_REFUSALS, Refusal, STATUS_CLASSES};

use crate::counters::{Counter, DurationCounts, add_to, status_class};

/// The figures of one event loop; only that loop writes them.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct RequestCounts {
    by_status: [Counter; STATUS_CLASSES.len()],
    durations: DurationCounts,
    /// How long they have waited for workers.
    waits: DurationCounts,
    refused: [Counter; QUEUE_REFUSALS.len()],
}

impl RequestCounts {
    /// Counts a request that is over. One that became another protocol lasted for as long as its client liked.
    pub(super) fn note(&self, status: Option<u16>, took: Duration) {
        self.by_status[status_class(status)].add(1);
        if status != Some(101) {
            self.durations.note(took);
        }
    }

    /// Counts a request that has waited so long for a worker.
    pub(super) fn note_wait(&self, waited: Duration) {
        self.waits.note(waited);
    }

    /// Counts a request that no worker has had, if this is why.
    pub(super) fn refuse(&self, refusal: Refusal) {
        if let Some(place) = QUEUE_REFUSALS.iter().position(|known| *known == refusal) {
            self.refused[place].add(1);
        }
    }
}

/// The figures of all event loops.
#[derive(Debug)]
pub(super) struct AllRequestCounts(Box<[RequestCounts]>);

/// Sums over all event loops.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct RequestFigures {
    /// By `STATUS_CLASSES`.
    pub(super) by_status: [u64; STATUS_CLASSES.len()],
    pub(super) durations: DurationFigures,
    pub(super) waits: DurationFigures,
    /// By `QUEUE_REFUSALS`.
    pub(super) refused: [u64; QUEUE_REFUSALS.len()],
}

impl AllRequestCounts {
    pub(super) fn new(n_loops: usize) -> Self {
        Self((0..n_loops).map(|_| RequestCounts::default()).collect())
    }

    /// The set of an event loop.
    pub(super) fn of_loop(&self, lane: Lane) -> &RequestCounts {
        &self.0[lane.index()]
    }

    pub(super) fn sum(&self) -> RequestFigures {
        let mut sum = RequestFigures::default();
        for counts in &self.0 {
            add_to(&mut sum.by_status, &counts.by_status);
            counts.durations.add_to(&mut sum.durations);
            counts.waits.add_to(&mut sum.waits);
            add_to(&mut sum.refused, &counts.refused);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_loops_are_added_up() {
        let all = AllRequestCounts::new(2);
        let (one, two) = (all.of_loop(Lane(0)), all.of_loop(Lane(1)));
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

    #[test]
    fn waits_and_refusals_are_counted_beside() {
        let all = AllRequestCounts::new(2);
        all.of_loop(Lane(0)).note_wait(Duration::ZERO);
        all.of_loop(Lane(1)).note_wait(Duration::from_millis(3));
        for refusal in [Refusal::QueueTimeout, Refusal::QueueTimeout, Refusal::NoWorker, Refusal::Limit] {
            all.of_loop(Lane(1)).refuse(refusal);
        }
        let figures = all.sum();
        assert_eq!((figures.waits.counts[..4].to_vec(), figures.waits.micros), (vec![1, 0, 0, 1], 3000));
        assert_eq!(figures.refused, [0, 2, 1]);
        assert_eq!(figures.by_status, [0; 6]);
    }
}
