//! The last traced request of each range of durations, of one listener and one event loop.
//!
//! Nothing is kept, and nothing is locked, while no request is traced.

use std::time::Duration;

use corral_ipc::message::{DURATION_BOUNDS, DurationExemplar, merge_exemplars};
use parking_lot::Mutex;

use super::duration_range;

/// At most one for each range.
#[derive(Debug, Default)]
pub(crate) struct Exemplars(Mutex<Vec<DurationExemplar>>);

impl Exemplars {
    /// A traced request is over; `ended` is since 1970.
    pub(crate) fn note(&self, trace_id: u128, took: Duration, ended: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let range = u8::try_from(duration_range(micros)).unwrap_or(DURATION_BOUNDS.len() as u8);
        let exemplar = DurationExemplar { range, trace_id, micros, ended };
        let mut all = self.0.lock();
        match all.iter_mut().find(|known| known.range == range) {
            Some(known) => *known = exemplar,
            None => all.push(exemplar),
        }
    }

    /// Adds them to those of other event loops.
    pub(crate) fn add_to(&self, all: &mut Vec<DurationExemplar>) {
        merge_exemplars(all, &self.0.lock());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_range_has_the_last_one() {
        let exemplars = Exemplars::default();
        let note = |trace_id, micros, ended| {
            exemplars.note(trace_id, Duration::from_micros(micros), Duration::from_secs(ended));
        };
        note(1, 400, 1);
        note(2, 500, 2);
        note(3, 501, 3);
        note(4, u64::MAX, 4);
        let mut all = Vec::new();
        exemplars.add_to(&mut all);
        let shown: Vec<_> = all.iter().map(|one| (one.range, one.trace_id, one.micros)).collect();
        assert_eq!(shown, [(0, 2, 500), (1, 3, 501), (16, 4, u64::MAX)]);
    }
}
