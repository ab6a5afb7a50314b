//! Durations that are counted in many ranges, each so many times as long as the one before: as native histograms of
//! Prometheus and exponential ones of OpenTelemetry have them.

use serde::{Deserialize, Deserializer, Serialize};

use crate::bounded;

/// The ranges of each doubling are 2 to the power of this number.
pub const FINE_SCHEMA: i32 = 2;

/// The number of the first range: a range's upper bound in seconds is 2 to the power of a quarter of its number.
/// Shorter durations, of up to 2^-14 seconds, are in no range.
pub const FIRST_FINE: i32 = -55;

/// How many ranges there are; the last one, of about 512 seconds, has all that are longer, too.
pub const N_FINE: usize = 92;

/// Durations that were measured, in fine ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FineDurations {
    /// How many are shorter than all ranges.
    pub short: u64,
    /// For each range, as far as there is something in one.
    #[serde(deserialize_with = "counts")]
    pub counts: Vec<u64>,
}

impl FineDurations {
    /// Adds others.
    pub fn count(&mut self, other: &Self) {
        self.short = self.short.saturating_add(other.short);
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
    }
}

fn counts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    bounded::list(from).map(|mut counts| {
        counts.truncate(N_FINE);
        counts
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_several_are_added() {
        let mut sum = FineDurations { short: 1, counts: vec![1, 2] };
        sum.count(&FineDurations { short: 2, counts: vec![1, 1, 1] });
        sum.count(&FineDurations::default());
        assert_eq!(sum, FineDurations { short: 3, counts: vec![2, 3, 1] });
    }

    #[test]
    fn no_more_ranges_are_taken_than_there_are() {
        let sent = FineDurations { short: 1, counts: vec![1; 1000] };
        let taken: FineDurations = postcard::from_bytes(&postcard::to_stdvec(&sent).unwrap()).unwrap();
        assert_eq!(taken.counts.len(), N_FINE);
    }
}
