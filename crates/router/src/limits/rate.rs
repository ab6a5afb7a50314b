//! A limit on requests in a time, shared by all event loops.

use std::time::{Duration, Instant};

use corral_config::throttle::RequestRate;
use parking_lot::Mutex;

use super::gcra::{Gcra, GcraDecision};
use super::table::{DueTable, KEPT};
use super::{LimitCounts, LimitDecision, LimitKey, Quota};

/// Parts that event loops rarely want at the same time.
const N_PARTS: usize = 1 << KEPT;

/// The limiter of one rate.
pub(super) struct RateLimiter {
    pace: Gcra,
    /// How far ahead a request may be without waiting, in nanoseconds; with none, no request waits.
    undelayed: Option<u64>,
    tells: bool,
    /// The beginning of its time.
    start: Instant,
    parts: Box<[Mutex<RateShard>]>,
}

struct RateShard {
    table: DueTable,
    tally: LimitCounts,
}

impl RateLimiter {
    pub(super) fn new(rate: &RequestRate, start: Instant) -> Self {
        let most = rate.entries.div_ceil(N_PARTS);
        let part = |_| Mutex::new(RateShard { table: DueTable::new(most), tally: LimitCounts::default() });
        let interval = nanoseconds(rate.interval);
        Self {
            pace: Gcra::new(interval, rate.burst),
            undelayed: rate.delay.map(|n_requests| interval.saturating_mul(u64::from(n_requests))),
            tells: rate.headers,
            start,
            parts: (0..N_PARTS).map(part).collect(),
        }
    }

    pub(super) fn ask(&self, LimitKey(key): LimitKey, now: Instant) -> LimitDecision {
        let now = self.since_start(now);
        let mut part = self.parts[(key >> (u64::BITS - KEPT)) as usize].lock();
        let RateShard { table, tally } = &mut *part;
        let due = table.due(key, now);
        match self.pace.judge(*due, now) {
            GcraDecision::Passes { ahead, next } => {
                *due = next;
                let delay = self.undelayed.map_or(0, |undelayed| ahead.saturating_sub(undelayed));
                tally.passed += 1;
                tally.delayed += u64::from(delay > 0);
                let quota = self.tells.then(|| self.quota(next, now, None));
                LimitDecision { delay: Duration::from_nanos(delay), quota, ..LimitDecision::default() }
            }
            GcraDecision::TooEarly { by } => {
                tally.refused += 1;
                let quota = Some(self.quota(*due, now, Some(by)));
                LimitDecision { is_refused: true, quota, ..LimitDecision::default() }
            }
        }
    }

    /// Whether requests that are early wait.
    pub(super) fn delays(&self) -> bool {
        self.undelayed.is_some()
    }

    /// A request that was let through is not answered after all: the next one comes in its place. Those that wait
    /// behind it keep the time that they were told, so that no more than a burst can meet.
    pub(super) fn give_back(&self, LimitKey(key): LimitKey, now: Instant) {
        let now = self.since_start(now);
        let mut part = self.parts[(key >> (u64::BITS - KEPT)) as usize].lock();
        let due = part.table.due(key, now);
        *due = self.pace.give_back(*due);
    }

    pub(super) fn tally(&self, now: Instant) -> LimitCounts {
        let now = self.since_start(now);
        let mut sum = LimitCounts::default();
        for part in &self.parts {
            let part = part.lock();
            sum.passed += part.tally.passed;
            sum.delayed += part.tally.delayed;
            sum.refused += part.tally.refused;
            sum.keys += part.table.n_in_use(now) as u64;
        }
        sum
    }

    fn quota(&self, due: u64, now: u64, early_by: Option<u64>) -> Quota {
        Quota {
            most: self.pace.most(),
            window: seconds(self.pace.window()),
            remaining: self.pace.remaining(due, now),
            reset: seconds(due.saturating_sub(now)),
            retry_after: early_by.map(seconds),
        }
    }

    fn since_start(&self, now: Instant) -> u64 {
        nanoseconds(now.saturating_duration_since(self.start))
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Whole seconds, rounded up.
fn seconds(nanoseconds: u64) -> u64 {
    nanoseconds.div_ceil(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    fn rate(interval: Duration, burst: u32) -> RequestRate {
        RequestRate { interval, burst, delay: None, headers: false, entries: 1000 }
    }

    #[test]
    fn a_refusal_says_when_to_come_again() {
        let start = Instant::now();
        let limiter = RateLimiter::new(&rate(Duration::from_millis(1500), 1), start);
        let ask = |milliseconds| limiter.ask(LimitKey(7), start + Duration::from_millis(milliseconds));
        assert!([0, 0].iter().all(|at| !ask(*at).is_refused));
        let refused = ask(100);
        let quota = Quota { most: 2, window: 3, remaining: 0, reset: 3, retry_after: Some(2) };
        assert!(refused.is_refused && refused.quota == Some(quota), "{refused:?}");
        assert!(!ask(1500).is_refused);
        let tally = limiter.tally(start + Duration::from_millis(1600));
        assert_eq!(tally, LimitCounts { passed: 3, delayed: 0, refused: 1, keys: 1 });
        assert_eq!(limiter.tally(start + Duration::from_secs(60)).keys, 0);
    }

    #[test]
    fn what_is_ahead_waits_for_its_turn() {
        let start = Instant::now();
        let limiter = RateLimiter::new(
            &RequestRate { delay: Some(0), headers: true, ..rate(Duration::from_secs(1), 2) },
            start,
        );
        let answers: Vec<_> = (0..4).map(|_| limiter.ask(LimitKey(7), start)).collect();
        let delays: Vec<_> = answers.iter().map(|answer| answer.delay.as_secs()).collect();
        assert_eq!(delays, [0, 1, 2, 0]);
        let remaining: Vec<_> = answers.iter().map(|answer| answer.quota.unwrap().remaining).collect();
        assert_eq!(remaining, [2, 1, 0, 0]);
        assert!(answers[3].is_refused);
        assert_eq!(limiter.tally(start).delayed, 2);
    }

    #[test]
    fn a_part_of_the_burst_does_not_wait() {
        let start = Instant::now();
        let rate = RequestRate { delay: Some(2), ..rate(Duration::from_secs(1), 4) };
        let limiter = RateLimiter::new(&rate, start);
        let answers: Vec<_> = (0..6).map(|_| limiter.ask(LimitKey(7), start)).collect();
        let delays: Vec<_> = answers.iter().map(|answer| answer.delay.as_secs()).collect();
        assert_eq!(delays, [0, 0, 0, 1, 2, 0]);
        assert!(answers[5].is_refused);
        assert_eq!(limiter.tally(start).delayed, 2);
    }

    #[test]
    fn places_of_those_that_left_are_given_back() {
        let start = Instant::now();
        let limiter =
            RateLimiter::new(&RequestRate { delay: Some(0), ..rate(Duration::from_secs(1), 2) }, start);
        let ask = |n| (0..n).map(|_| limiter.ask(LimitKey(7), start)).collect::<Vec<_>>();
        assert_eq!(ask(4).iter().filter(|answer| answer.is_refused).count(), 1);
        (0..2).for_each(|_| limiter.give_back(LimitKey(7), start));
        let delays: Vec<_> = ask(2).iter().map(|answer| answer.delay.as_secs()).collect();
        assert_eq!(delays, [1, 2]);
        assert!(ask(1)[0].is_refused);
        // One too many is nothing that others have to pay for.
        limiter.give_back(LimitKey(8), start);
        assert!(!limiter.ask(LimitKey(8), start).is_refused);
    }

    /// Keys of one limit have nothing to do with each other.
    #[test]
    fn each_key_has_its_own() {
        let start = Instant::now();
        let limiter = RateLimiter::new(&rate(Duration::from_secs(1), 0), start);
        let keys = [1, 1 << 60, 2 << 60, u64::MAX];
        assert!(keys.iter().all(|key| !limiter.ask(LimitKey(*key), start).is_refused));
        assert!(keys.iter().all(|key| limiter.ask(LimitKey(*key), start).is_refused));
    }

    /// Two threads that ask without a pause get together what the rate grants, within five parts of a hundred.
    #[test]
    fn threads_share_a_rate() {
        let start = Instant::now();
        let limiter = RateLimiter::new(&rate(Duration::from_micros(500), 10), start);
        let n_passed = AtomicU64::new(0);
        // On a clock of the test's own, so that a machine under load changes nothing.
        let ticks = AtomicU64::new(0);
        let end = Duration::from_secs(2);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        let now = Duration::from_micros(20 * ticks.fetch_add(1, Ordering::Relaxed));
                        if now > end {
                            break;
                        }
                        let passes = !limiter.ask(LimitKey(7), start + now).is_refused;
                        n_passed.fetch_add(u64::from(passes), Ordering::Relaxed);
                    }
                });
            }
        });
        let n_passed = n_passed.into_inner();
        assert!((3800..=4011).contains(&n_passed), "{n_passed} of 4000");
    }
}
