//! Traced requests, each of which stands for others that took about as long.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

use super::durations::DURATION_BOUNDS;
use crate::bounded;

/// A traced request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurationExemplar {
    /// Which of the ranges of [`DURATION_BOUNDS`] its duration is in.
    pub range: u8,
    /// The trace that the request is of.
    pub trace_id: u128,
    /// How long it took, in microseconds.
    pub micros: u64,
    /// When it was over, since 1970.
    pub ended: Duration,
}

/// Takes over those of `others` that are newer, or the first of their range.
pub fn merge_exemplars(all: &mut Vec<DurationExemplar>, others: &[DurationExemplar]) {
    for other in others {
        match all.iter_mut().find(|known| known.range == other.range) {
            Some(known) if known.ended < other.ended => *known = *other,
            Some(_) => {}
            None => all.push(*other),
        }
    }
}

/// A list of at most one for each range.
pub(super) fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<DurationExemplar>, D::Error> {
    bounded::list(from).map(|mut all: Vec<DurationExemplar>| {
        all.retain(|one| usize::from(one.range) <= DURATION_BOUNDS.len());
        all.truncate(DURATION_BOUNDS.len() + 1);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exemplar(range: u8, trace_id: u128, seconds: u64) -> DurationExemplar {
        DurationExemplar { range, trace_id, micros: 1, ended: Duration::from_secs(seconds) }
    }

    #[test]
    fn the_newest_of_each_range_stays() {
        let mut all = vec![exemplar(0, 1, 10), exemplar(3, 2, 10)];
        merge_exemplars(&mut all, &[exemplar(0, 3, 9), exemplar(3, 4, 11), exemplar(5, 5, 1)]);
        assert_eq!(all, [exemplar(0, 1, 10), exemplar(3, 4, 11), exemplar(5, 5, 1)]);
    }

    #[test]
    fn a_list_has_no_range_that_there_is_not() {
        let sent: Vec<_> = (0..100).map(|range| exemplar(range, 1, 1)).collect();
        let bytes = postcard::to_stdvec(&sent).unwrap();
        let taken = list(&mut postcard::Deserializer::from_bytes(&bytes)).unwrap();
        assert_eq!(taken.len(), 17);
        assert!(taken.iter().all(|one| one.range <= 16));
    }
}
