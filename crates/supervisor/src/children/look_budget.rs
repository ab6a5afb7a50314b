//! The time that main takes for looks at processes, whatever asks for them: all other processes wait for it meanwhile.

use std::time::{Duration, Instant};

/// Bytes of a process whose pages are not looked at, as that would take tens of milliseconds.
pub(super) const LARGEST: u64 = 1024 * 1024 * 1024;

/// The time for looks between two pauses. The last one may take longer, by what the largest process takes.
const MOST: Duration = Duration::from_millis(20);

/// So much time without a look is a pause: no stretch of that length has more looks than those between two pauses.
const PAUSE: Duration = Duration::from_millis(200);

/// The looks since the last pause.
#[derive(Debug, Default)]
pub(crate) struct LookBudget {
    spent: Duration,
    last: Option<Instant>,
}

impl LookBudget {
    /// The time that is left for looks.
    pub(super) fn left(&mut self, now: Instant) -> Duration {
        if self.last.is_none_or(|last| now.saturating_duration_since(last) >= PAUSE) {
            self.spent = Duration::ZERO;
        }
        MOST.saturating_sub(self.spent)
    }

    /// Looks took all the time between these moments.
    pub(super) fn note(&mut self, began: Instant, ended: Instant) {
        self.spent = self.spent.saturating_add(ended.saturating_duration_since(began));
        self.last = Some(ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks at these milliseconds for looks that take as long as is left, up to so many; expects that they take these.
    #[track_caller]
    fn check(questions: &[(u64, u64, u64)]) {
        let (begin, mut budget) = (Instant::now(), LookBudget::default());
        for (at, wanted, expected) in questions {
            let now = begin + Duration::from_millis(*at);
            let taken = budget.left(now).min(Duration::from_millis(*wanted));
            assert_eq!(taken, Duration::from_millis(*expected), "at {at}");
            if !taken.is_zero() {
                budget.note(now, now + taken);
            }
        }
    }

    #[test]
    fn there_is_no_more_time_for_many_questions_than_for_one() {
        check(&[(0, 50, 20), (20, 50, 0), (100, 50, 0), (219, 50, 0), (220, 50, 20), (300, 1, 0)]);
    }

    #[test]
    fn short_looks_one_after_the_other_need_a_pause_too() {
        check(&[(0, 5, 5), (100, 5, 5), (200, 5, 5), (300, 5, 5), (400, 5, 0), (504, 5, 0), (505, 5, 5)]);
        check(&[(0, 5, 5), (1000, 5, 5), (2000, 5, 5), (3000, 5, 5), (4000, 5, 5)]);
    }

    #[test]
    fn a_look_that_took_too_long_leaves_nothing() {
        let (begin, mut budget) = (Instant::now(), LookBudget::default());
        budget.note(begin, begin + Duration::from_secs(1));
        assert_eq!(budget.left(begin + Duration::from_secs(1)), Duration::ZERO);
    }
}
