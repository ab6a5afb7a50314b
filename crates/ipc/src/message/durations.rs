//! Durations that were measured, counted by their length.
//!
//! A version that tells of another number of ranges has other bounds. Its counts are of other durations than ours at
//! the same place, so all of them are left out, with their sum: a histogram begins anew then, as after a restart.

use serde::{Deserialize, Serialize};

use super::by_place;
use super::traffic::add;

/// Upper bounds of durations that are counted together, in microseconds; longer ones follow the last.
pub const DURATION_BOUNDS: [u64; 16] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

/// Durations that were measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "ToldDurations")]
pub struct DurationFigures {
    /// How many are in each range of [`DURATION_BOUNDS`], and how many are longer.
    pub counts: [u64; DURATION_BOUNDS.len() + 1],
    /// The sum, in microseconds.
    pub micros: u64,
}

/// The same, as another process tells it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ToldDurations {
    /// Left out with other bounds than ours.
    #[serde(deserialize_with = "by_place::exact")]
    counts: Option<[u64; DURATION_BOUNDS.len() + 1]>,
    micros: u64,
}

impl From<ToldDurations> for DurationFigures {
    fn from(told: ToldDurations) -> Self {
        let ToldDurations { counts, micros } = told;
        counts.map(|counts| Self { counts, micros }).unwrap_or_default()
    }
}

impl DurationFigures {
    /// Adds those of another router.
    pub(super) fn count(&mut self, other: &Self) {
        add(&mut self.counts, &other.counts);
        add([&mut self.micros], &[other.micros]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct OtherVersion {
        counts: Vec<u64>,
        micros: u64,
    }

    #[test]
    fn durations_in_other_ranges_are_not_counted_among_ours() {
        let n_ours = DURATION_BOUNDS.len() + 1;
        for (n, micros) in [(n_ours - 1, 0), (n_ours, 70), (n_ours + 1, 0), (0, 0)] {
            let told = OtherVersion { counts: vec![1; n], micros: 70 };
            let bytes = rmp_serde::to_vec_named(&told).unwrap();
            let taken: DurationFigures = rmp_serde::from_slice(&bytes).unwrap();
            assert_eq!((taken.counts[0], taken.micros), (micros / 70, micros), "{n}");
        }
    }
}
