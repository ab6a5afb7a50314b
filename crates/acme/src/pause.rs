//! Pauses after failures: each is twice as long as the one before, more or less.

use std::time::Duration;

use crate::jitter::Jitter;

/// How pauses grow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PauseGrowth {
    /// After the first failure.
    pub(crate) first: Duration,
    /// However many there were.
    pub(crate) longest: Duration,
}

/// For a name that the authority has refused, or could not check.
pub(crate) const OF_NAME: PauseGrowth =
    PauseGrowth { first: Duration::from_secs(60), longest: Duration::from_secs(24 * 3600) };

/// For an authority that does not answer: when it is back, that is to be noticed soon.
pub(crate) const OF_AUTHORITY: PauseGrowth =
    PauseGrowth { first: Duration::from_secs(5), longest: Duration::from_secs(15 * 60) };

/// Between orders of one name. Certificates that live for five minutes are renewed in time.
pub(crate) const OF_ORDERS: PauseGrowth =
    PauseGrowth { first: Duration::from_secs(1), longest: Duration::from_secs(120) };

/// For what an authority says about renewals.
pub(crate) const OF_QUESTION: PauseGrowth =
    PauseGrowth { first: Duration::from_secs(10 * 60), longest: Duration::from_secs(6 * 3600) };

impl PauseGrowth {
    /// The pause after that many failures in a row, from three quarters of its length up to all of it.
    pub(crate) fn after(self, n_failures: u32, jitter: &mut Jitter) -> Duration {
        let doublings = n_failures.saturating_sub(1).min(31);
        let whole = self.first.saturating_mul(1 << doublings).min(self.longest);
        whole.mul_f64(0.75 + 0.25 * jitter.draw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(growth: PauseGrowth, n_failures: u32, jitter: f64, seconds: u64) {
        let pause = growth.after(n_failures, &mut Jitter::Fixed(jitter));
        assert_eq!(pause.as_secs(), seconds);
    }

    #[test]
    fn pauses_double_up_to_a_day() {
        for (n_failures, seconds) in
            [(1, 45), (2, 90), (3, 180), (11, 46_080), (12, 64_800), (u32::MAX, 64_800)]
        {
            check(OF_NAME, n_failures, 0.0, seconds);
        }
        check(OF_NAME, 1, 0.5, 52);
        check(OF_AUTHORITY, 1, 1.0, 5);
        check(OF_AUTHORITY, 20, 1.0, 900);
    }
}
