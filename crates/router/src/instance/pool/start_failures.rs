//! Workers that could not be started: the next one is asked for ever later. Pure: time comes in.

use std::time::{Duration, Instant};

/// Failures to start a worker, one after the other.
#[derive(Debug, Default)]
pub(super) struct StartFailures {
    n_failures: u32,
    not_before: Option<Instant>,
}

impl StartFailures {
    /// A worker could not be started. Others that were asked for at the same time count as one with it.
    pub(super) fn count(&mut self, now: Instant) {
        if self.allows_start(now) {
            let delay = LONGEST_DELAY.min(FIRST_DELAY * 2u32.saturating_pow(self.n_failures));
            self.n_failures = self.n_failures.saturating_add(1);
            self.not_before = Some(now + delay);
        }
    }

    /// A worker was started.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// Whether it is time to try again.
    pub(super) fn allows_start(&self, now: Instant) -> bool {
        self.not_before.is_none_or(|at| at <= now)
    }
}

const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_until_one_starts() {
        let mut now = Instant::now();
        let mut start_failures = StartFailures::default();
        assert!(start_failures.allows_start(now));
        for seconds in [1, 2, 4, 4, 4] {
            start_failures.count(now);
            start_failures.count(now);
            now += Duration::from_secs(seconds);
            assert!(!start_failures.allows_start(now - Duration::from_millis(1)));
            assert!(start_failures.allows_start(now));
        }
        start_failures.count(now);
        start_failures.end();
        assert!(start_failures.allows_start(now));
    }
}
