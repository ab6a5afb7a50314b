//! How often one name is ordered, whatever for: no wrong clock, no renewal window in the past and no certificate that
//! lives for seconds makes an authority work without end.

use std::time::{Duration, SystemTime};

use crate::jitter::Jitter;
use crate::pause;
use crate::time;

/// The orders of one name that follow one another closely.
#[derive(Default)]
pub(super) struct OrderPace {
    n_in_row: u32,
    last: Option<Begun>,
}

/// One order.
#[derive(Clone, Copy)]
struct Begun {
    at: SystemTime,
    /// When the next one may begin.
    until: SystemTime,
}

impl OrderPace {
    /// Notes that an order begins now.
    pub(super) fn begin(&mut self, now: SystemTime, jitter: &mut Jitter) {
        let is_in_row = self.last.is_some_and(|last| (last.at..last.at + QUIET).contains(&now));
        self.n_in_row = if is_in_row { self.n_in_row.saturating_add(1) } else { 1 };
        self.last = Some(Begun { at: now, until: now + pause::OF_ORDERS.after(self.n_in_row, jitter) });
    }

    /// When the next order may begin; 1970 when it may at any time.
    pub(super) fn until(&self, now: SystemTime) -> SystemTime {
        let until = self.last.map_or(SystemTime::UNIX_EPOCH, |last| last.until);
        time::unless_beyond(until, now, pause::OF_ORDERS.longest)
    }
}

/// The pause after which orders are in no row any more.
const QUIET: Duration = Duration::from_secs(2 * pause::OF_ORDERS.longest.as_secs());

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        time::of_seconds(1_700_000_000 + seconds)
    }

    /// The orders of an hour, each as early as it may be.
    fn n_in_an_hour() -> usize {
        let (mut pace, mut jitter, mut now) = (OrderPace::default(), Jitter::Fixed(0.0), at(0));
        let mut n_begun = 0;
        while now < at(3600) {
            pace.begin(now, &mut jitter);
            n_begun += 1;
            now = pace.until(now);
        }
        n_begun
    }

    #[test]
    fn there_is_a_bound_an_hour() {
        assert!((30..50).contains(&n_in_an_hour()), "{}", n_in_an_hour());
    }

    #[test]
    fn orders_far_from_one_another_do_not_wait() {
        let (mut pace, mut jitter) = (OrderPace::default(), Jitter::Fixed(1.0));
        for hour in 0..20 {
            pace.begin(at(hour * 3600), &mut jitter);
            assert_eq!(pace.until(at(hour * 3600)), at(hour * 3600 + 1));
        }
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_hold_a_name() {
        let (mut pace, mut jitter) = (OrderPace::default(), Jitter::Fixed(1.0));
        pace.begin(at(1_000_000), &mut jitter);
        assert!(pace.until(at(0)) < at(0));
        pace.begin(at(0), &mut jitter);
        assert_eq!(pace.until(at(0)), at(1));
    }
}
