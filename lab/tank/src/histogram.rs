//! Times, each counted to three digits. Their percentiles do not depend on how they were summed up.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::clock::Nanos;

/// The longest time; longer ones count as this.
const LONGEST: Nanos = 3600 * 1_000_000_000;

#[derive(Debug, Clone)]
pub(crate) struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Self {
        Self(Histogram::new_with_bounds(1, LONGEST, 3).expect("the bounds are right"))
    }
}

impl Times {
    pub(crate) fn record(&mut self, time: Nanos) {
        self.0.saturating_record(time);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("all have the same bounds");
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    pub(crate) fn min(&self) -> Duration {
        Duration::from_nanos(self.0.min())
    }

    pub(crate) fn max(&self) -> Duration {
        Duration::from_nanos(self.0.max())
    }

    pub(crate) fn mean(&self) -> Duration {
        Duration::from_nanos(self.0.mean() as Nanos)
    }

    pub(crate) fn percentile(&self, percent: f64) -> Duration {
        // The end of the bucket may be beyond the greatest time.
        Duration::from_nanos(self.0.value_at_percentile(percent).min(self.0.max()))
    }

    /// The share of times above a limit.
    pub(crate) fn share_above(&self, limit: Duration) -> f64 {
        if self.0.is_empty() {
            return 0.0;
        }
        1.0 - self.0.percentile_below(limit.as_nanos() as Nanos) / 100.0
    }

    /// The times that there were, in nanoseconds, each with its number, the shortest first.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Nanos, u64)> {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values: impl IntoIterator<Item = Nanos>) -> Times {
        let mut times = Times::default();
        values.into_iter().for_each(|value| times.record(value));
        times
    }

    #[test]
    fn percentiles_have_three_digits() {
        let times = times((1..=1000).map(|number| number * 1_000_000));
        for (percent, expected) in [(50.0, 500.0), (99.0, 990.0), (100.0, 1000.0)] {
            let found = times.percentile(percent).as_secs_f64() * 1e3;
            assert!((found / expected - 1.0).abs() < 1e-3, "{percent}: {found}");
        }
        assert!((times.share_above(Duration::from_millis(900)) - 0.1).abs() < 1e-3);
    }

    #[test]
    fn what_is_too_long_counts_as_the_longest() {
        let times = times([0, Nanos::MAX]);
        assert_eq!(times.count(), 2);
        assert!(times.max() >= Duration::from_secs(3600));
    }

    #[test]
    fn sums_keep_every_time() {
        let mut sum = times([1_000, 2_000, 2_000]);
        sum.add(&times([3_000_000, 1_000]));
        let counts: Vec<_> = sum.counts().collect();
        assert_eq!(counts.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [2, 2, 1]);
        for ((found, _), expected) in counts.iter().zip([1_000.0, 2_000.0, 3_000_000.0]) {
            assert!((*found as f64 / expected - 1.0).abs() < 1e-3, "{counts:?}");
        }
        assert_eq!(times([]).counts().count(), 0);
    }
}
