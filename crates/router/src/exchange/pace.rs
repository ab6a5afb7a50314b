//! `limit_rate`: the pace of one response body, as a bucket that fills with bytes that may be sent.

use std::time::{Duration, Instant};

use corral_config::responses::RateLimit;

/// The pace of a body.
#[derive(Debug)]
pub(super) struct Pace {
    /// Bytes in a second.
    rate: u64,
    /// Bytes that are waited for, if as many are to be sent.
    step: u64,
    /// The most that is saved up.
    most: u64,
    available: u64,
    /// All bytes that were earned by then are in `available`.
    counted: Instant,
}

/// A body is sent about so many times in a second.
const STEPS: u64 = 8;

/// A fast body is sent in pieces no longer than they are without a limit.
const MAX_STEP: u64 = 64 * 1024;

const SECOND: u128 = 1_000_000_000;

impl Pace {
    /// The pace of a limit, which is not 0.
    pub(super) fn new(limit: RateLimit, now: Instant) -> Self {
        let step = (limit.rate / STEPS).clamp(1, MAX_STEP);
        let most = limit.burst.max(step);
        Self { rate: limit.rate.max(1), step, most, available: most, counted: now }
    }

    /// Waits until some of so many bytes may be sent, and takes them. The carrier is not waited for meanwhile, so that
    /// its time limits do not run.
    pub(super) async fn take(&mut self, wanted: u64) -> u64 {
        loop {
            match self.try_take(wanted, Instant::now()) {
                Ok(n) => return n,
                Err(pause) => Box::pin(tokio::time::sleep(pause)).await,
            }
        }
    }

    /// Gives bytes back that could not be sent.
    pub(super) fn give_back(&mut self, n: u64) {
        self.available = self.available.saturating_add(n).min(self.most);
    }

    /// Takes up to so many bytes, or tells how long it is until there are enough.
    fn try_take(&mut self, wanted: u64, now: Instant) -> Result<u64, Duration> {
        self.fill(now);
        let least = wanted.min(self.step);
        if self.available < least {
            return Err(self.span(least - self.available));
        }
        let n = wanted.min(self.available);
        self.available -= n;
        Ok(n)
    }

    fn fill(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.counted);
        let earned = elapsed.as_nanos().saturating_mul(u128::from(self.rate)) / SECOND;
        let room = self.most - self.available;
        match u64::try_from(earned) {
            Ok(0) => {}
            Ok(earned) if earned < room => {
                self.available += earned;
                // Parts of a byte count next time.
                self.counted += self.span(earned);
            }
            _ => (self.available, self.counted) = (self.most, now),
        }
    }

    /// The time in which so many bytes are earned.
    fn span(&self, n: u64) -> Duration {
        let nanos = (u128::from(n) * SECOND).div_ceil(u128::from(self.rate));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `wanted` bytes are sent in so many milliseconds.
    fn sent_within(limit: RateLimit, wanted: u64, millis: u64) -> u64 {
        let start = Instant::now();
        let (mut pace, mut now, mut left) = (Pace::new(limit, start), start, wanted);
        while left > 0 {
            match pace.try_take(left, now) {
                Ok(n) => {
                    assert!(n > 0 && n <= left, "{n} of {left}");
                    left -= n;
                }
                Err(pause) => {
                    assert!(!pause.is_zero(), "a pause that lets nothing happen is a busy loop");
                    now += pause;
                }
            }
            if now.duration_since(start) > Duration::from_millis(millis) {
                break;
            }
        }
        wanted - left
    }

    #[track_caller]
    fn check(rate: u64, burst: u64, millis: u64, least: u64, most: u64) {
        let sent = sent_within(RateLimit { rate, burst }, u64::MAX, millis);
        assert!((least..=most).contains(&sent), "{sent} bytes in {millis} ms at {rate}, {burst}");
    }

    #[test]
    fn bytes_are_sent_at_the_rate_behind_the_burst() {
        check(8000, 0, 1000, 8000, 9000);
        check(8000, 0, 10_000, 80_000, 81_000);
        check(8000, 100_000, 1000, 107_000, 109_000);
        check(1, 0, 5000, 5, 6);
        check(3, 0, 10_000, 30, 32);
        check(1 << 40, 0, 100, 100_000_000_000, 120_000_000_000);
        check(1 << 40, 1 << 40, 1, 1 << 40, 1_200_000_000_000);
    }

    #[test]
    fn no_more_is_saved_up_than_the_burst() {
        let start = Instant::now();
        let mut pace = Pace::new(RateLimit { rate: 1000, burst: 5000 }, start);
        assert_eq!(pace.try_take(9999, start), Ok(5000));
        assert!(pace.try_take(9999, start).is_err());
        let later = start + Duration::from_secs(3600);
        assert_eq!(pace.try_take(u64::MAX, later), Ok(5000));
        assert_eq!(pace.try_take(10, later + Duration::from_millis(9)), Err(Duration::from_millis(1)));
    }

    #[test]
    fn bytes_that_were_not_sent_can_be_sent_again() {
        let start = Instant::now();
        let mut pace = Pace::new(RateLimit { rate: 80, burst: 0 }, start);
        assert_eq!(pace.try_take(100, start), Ok(10));
        pace.give_back(10);
        assert_eq!(pace.try_take(100, start), Ok(10));
        pace.give_back(u64::MAX);
        assert_eq!(pace.try_take(100, start), Ok(10));
    }
}
