//! Durations counted in the fine ranges of native histograms, by the bits of a floating-point number.

use std::time::Duration;

use corral_ipc::message::{FIRST_FINE, FineDurations, N_FINE};

use super::Counter;

/// Durations of one listener and one event loop; only that loop writes them.
#[derive(Debug)]
pub(crate) struct FineDurationCounts {
    short: Counter,
    counts: [Counter; N_FINE],
}

impl Default for FineDurationCounts {
    fn default() -> Self {
        Self { short: Counter::default(), counts: std::array::from_fn(|_| Counter::default()) }
    }
}

impl FineDurationCounts {
    /// Counts one.
    pub(crate) fn note(&self, took: Duration) {
        fine_range(took).map_or(&self.short, |range| &self.counts[range]).add(1);
    }

    /// Adds all to those of other event loops.
    pub(crate) fn add_to(&self, sum: &mut FineDurations) {
        let used = self.counts.iter().rposition(|count| count.get() > 0).map_or(0, |last| last + 1);
        let counts = self.counts[..used].iter().map(Counter::get).collect();
        sum.count(&FineDurations { short: self.short.get(), counts });
    }
}

/// The mantissas of the fourth roots of 2, 4 and 8, between which the ranges of a doubling lie.
const ROOTS: [u64; 3] = [0x3_06fe_0a31_b715, 0x6_a09e_667f_3bcd, 0xa_e89f_995a_d3ad];

const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
const EXPONENT_BIAS: i64 = (f64::MAX_EXP - 1) as i64;

/// The range of a duration; none for one that is shorter than all. An upper bound is in its range.
fn fine_range(took: Duration) -> Option<usize> {
    let bits = took.as_secs_f64().to_bits();
    let exponent = (bits >> MANTISSA_BITS).cast_signed() - EXPONENT_BIAS;
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1);
    let quarter = i64::from(mantissa > 0) + ROOTS.iter().filter(|root| mantissa > **root).count() as i64;
    let place = exponent * 4 + quarter - i64::from(FIRST_FINE);
    usize::try_from(place).ok().map(|place| place.min(N_FINE - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The upper bound of a range, in seconds.
    fn bound(range: usize) -> f64 {
        2_f64.powf(f64::from(range as i32 + FIRST_FINE) / 4.0)
    }

    #[test]
    fn the_roots_are_those_of_two() {
        let mantissa = |number: f64| number.to_bits() & ((1 << MANTISSA_BITS) - 1);
        let roots = [2_f64.sqrt().sqrt(), 2_f64.sqrt(), 2_f64.sqrt() * 2_f64.sqrt().sqrt()];
        for (root, known) in roots.into_iter().zip(ROOTS) {
            assert!(mantissa(root).abs_diff(known) <= 2, "{:x} {known:x}", mantissa(root));
        }
    }

    #[test]
    fn a_duration_is_within_its_range() {
        let mut nanos = 1_u64;
        while nanos < 2_000_000_000_000 {
            let took = Duration::from_nanos(nanos);
            let seconds = took.as_secs_f64();
            match fine_range(took) {
                None => assert!(seconds <= bound(0) / 2_f64.powf(0.25) * 1.000_001, "{seconds}"),
                Some(range) => {
                    assert!(range == 0 || bound(range - 1) < seconds * 1.000_001, "{seconds} in {range}");
                    assert!(
                        range == N_FINE - 1 || seconds <= bound(range) * 1.000_001,
                        "{seconds} in {range}"
                    );
                }
            }
            nanos += nanos / 50 + 1;
        }
    }

    #[track_caller]
    fn check(took: Duration, upper_bound: Option<f64>) {
        assert_eq!(fine_range(took).map(bound), upper_bound, "{took:?}");
    }

    #[test]
    fn bounds_belong_to_what_is_below() {
        check(Duration::ZERO, None);
        // 2^-14 seconds, in whole nanoseconds above and below.
        check(Duration::from_nanos(61_035), None);
        check(Duration::from_nanos(61_036), Some(bound(0)));
        check(Duration::from_secs(1), Some(1.0));
        check(Duration::from_nanos(1_000_000_001), Some(bound(56)));
        check(Duration::from_millis(1500), Some(2_f64.powf(0.75)));
        check(Duration::from_secs(2), Some(2.0));
        check(Duration::from_secs(512), Some(512.0));
        check(Duration::from_secs(1_000_000), Some(512.0));
        check(Duration::MAX, Some(512.0));
    }

    #[test]
    fn event_loops_are_added_up() {
        let (one, two) = (FineDurationCounts::default(), FineDurationCounts::default());
        one.note(Duration::ZERO);
        one.note(Duration::from_micros(62));
        two.note(Duration::from_micros(62));
        two.note(Duration::from_secs(1));
        let mut sum = FineDurations::default();
        one.add_to(&mut sum);
        two.add_to(&mut sum);
        assert_eq!((sum.short, sum.counts[0], sum.counts.len(), sum.counts[55]), (1, 2, 56, 1));
    }
}
