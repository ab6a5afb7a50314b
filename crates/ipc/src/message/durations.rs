//! Durations that were measured, counted by their length.

use serde::{Deserialize, Serialize};

use super::traffic::add;

/// Upper bounds of durations that are counted together, in microseconds; longer ones follow the last.
pub const DURATION_BOUNDS: [u64; 16] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

/// Durations that were measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DurationFigures {
    /// How many are in each range of [`DURATION_BOUNDS`], and how many are longer.
    pub counts: [u64; DURATION_BOUNDS.len() + 1],
    /// The sum, in microseconds.
    pub micros: u64,
}

impl DurationFigures {
    /// Adds those of another router.
    pub(super) fn count(&mut self, other: &Self) {
        add(&mut self.counts, &other.counts);
        add([&mut self.micros], &[other.micros]);
    }
}
