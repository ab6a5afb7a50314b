//! Whether a request keeps to a pace: virtual scheduling, as in the generic cell rate algorithm. Of each key one number
//! is known, when its next request is due. Pure: times come in as nanoseconds.

/// A pace, and how far requests may be ahead of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gcra {
    /// From one request to the next; not 0.
    interval: u64,
    /// `burst` intervals.
    slack: u64,
}

/// The judgement on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GcraDecision {
    /// The request goes on; `ahead` is how much earlier than due it is. Then the next one is due at `next`.
    Passes { ahead: u64, next: u64 },
    /// The request is too early by this much.
    TooEarly { by: u64 },
}

impl Gcra {
    pub(super) fn new(interval: u64, burst: u32) -> Self {
        let interval = interval.max(1);
        Self { interval, slack: interval.saturating_mul(u64::from(burst)) }
    }

    pub(super) fn judge(self, due: u64, now: u64) -> GcraDecision {
        let start = due.max(now);
        let ahead = start - now;
        if ahead > self.slack {
            return GcraDecision::TooEarly { by: ahead - self.slack };
        }
        GcraDecision::Passes { ahead, next: start.saturating_add(self.interval) }
    }

    /// When the next request is due if one that has passed does not count.
    pub(super) fn give_back(self, due: u64) -> u64 {
        due.saturating_sub(self.interval)
    }

    /// Requests that may come at once.
    pub(super) fn most(self) -> u64 {
        self.slack / self.interval + 1
    }

    /// The time in which as many are granted anew.
    pub(super) fn window(self) -> u64 {
        self.slack.saturating_add(self.interval)
    }

    /// Requests that may come at once when the next one is due.
    pub(super) fn remaining(self, due: u64, now: u64) -> u64 {
        self.window().saturating_sub(due.saturating_sub(now)) / self.interval
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Requests of one key at these times; a sign for each: `+` passes, `-` is refused.
    #[track_caller]
    fn check(pace: Gcra, times: &[u64], expect: &str) {
        let mut due = 0;
        let judge = |&now: &u64| match pace.judge(due, now) {
            GcraDecision::Passes { next, .. } => {
                due = next;
                '+'
            }
            GcraDecision::TooEarly { .. } => '-',
        };
        assert_eq!(times.iter().map(judge).collect::<String>(), expect);
    }

    #[test]
    fn without_a_burst_there_is_one_in_an_interval() {
        check(Gcra::new(100, 0), &[0, 0, 99, 100, 150, 199, 200, 1000, 1000], "+--+--++-");
    }

    #[test]
    fn a_burst_comes_back_with_time() {
        check(Gcra::new(100, 2), &[0, 0, 0, 0, 99, 100, 100, 300, 300, 300], "+++--+-++-");
    }

    #[test]
    fn a_clock_that_goes_back_is_no_fault() {
        check(Gcra::new(100, 1), &[1000, 900, 900, 1000, 1100], "+--++");
    }

    #[test]
    fn who_is_early_is_told_by_how_much() {
        let pace = Gcra::new(100, 1);
        assert_eq!(pace.judge(0, 0), GcraDecision::Passes { ahead: 0, next: 100 });
        assert_eq!(pace.judge(100, 0), GcraDecision::Passes { ahead: 100, next: 200 });
        assert_eq!(pace.judge(200, 30), GcraDecision::TooEarly { by: 70 });
        assert_eq!(
            [(0, 0), (100, 0), (101, 0), (200, 0), (200, 100)].map(|(due, now)| pace.remaining(due, now)),
            [2, 1, 0, 0, 1]
        );
    }

    #[test]
    fn the_greatest_values_do_not_overflow() {
        let pace = Gcra::new(u64::MAX, u32::MAX);
        assert_eq!(pace.judge(u64::MAX, 0), GcraDecision::Passes { ahead: u64::MAX, next: u64::MAX });
        assert_eq!(pace.remaining(u64::MAX, 0), 0);
    }

    proptest! {
        /// In no span of time pass more requests than the rate and the burst grant.
        #[test]
        fn never_more_than_granted(
            interval in 1..1000u64,
            burst in 0..20u32,
            steps in prop::collection::vec(0..500u64, 1..200),
        ) {
            let pace = Gcra::new(interval, burst);
            let (mut now, mut due, mut passed) = (0, 0, Vec::new());
            for step in steps {
                now += step;
                if let GcraDecision::Passes { next, .. } = pace.judge(due, now) {
                    due = next;
                    passed.push(now);
                }
            }
            for (idx, from) in passed.iter().enumerate() {
                for (n, to) in passed[idx..].iter().enumerate() {
                    let granted = (to - from) / interval + u64::from(burst) + 1;
                    prop_assert!((n as u64) < granted, "{n} from {from} to {to}");
                }
            }
        }

        /// As many as are said to be left pass, and no more.
        #[test]
        fn what_remains_passes(interval in 1..1000u64, burst in 0..20u32, due in 0..30_000u64, now in 0..30_000u64) {
            let pace = Gcra::new(interval, burst);
            let mut at = due;
            let mut n_passed = 0;
            while let GcraDecision::Passes { next, .. } = pace.judge(at, now) {
                at = next;
                n_passed += 1;
            }
            prop_assert_eq!(n_passed, pace.remaining(due, now));
        }
    }
}
