//! Whether a server is used: what requests to it and checks of it have shown. Shared by all event loops and
//! the thread that makes the checks; neither waits for the other.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use corral_config::upstream::PassiveHealth;

use crate::clock::Millis;

/// The state of one server.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// The checks have failed.
    down: AtomicBool,
    /// Failed requests since `first_failure`.
    n_failures: AtomicU32,
    first_failure: AtomicU64,
    /// Requests go to others until then.
    avoided_until: AtomicU64,
    /// When the server was used again after it had been down or avoided; 0 if it never was.
    back_since: AtomicU64,
}

/// A server that comes back begins with this part of its weight.
const FIRST_PART: u64 = 100;

impl Health {
    /// Whether the checks, if there are any, find the server well.
    pub(crate) fn is_up(&self) -> bool {
        !self.down.load(Ordering::Relaxed)
    }

    /// Whether requests that have failed speak against giving it another one.
    pub(crate) fn is_avoided(&self, now: Millis) -> bool {
        now.0 < self.avoided_until.load(Ordering::Relaxed)
    }

    /// The weight of a server that gets its full one within `ramp` of coming back.
    pub(crate) fn ramped(&self, weight: u64, ramp: Duration, now: Millis) -> u64 {
        let avoided_until = self.avoided_until.load(Ordering::Relaxed);
        let since = self.back_since.load(Ordering::Relaxed).max(avoided_until);
        let (passed, ramp) = (u128::from(now.0.saturating_sub(since)), ramp.as_millis());
        if since == 0 || passed >= ramp {
            return weight;
        }
        let part = u64::try_from(u128::from(weight) * passed / ramp).unwrap_or(weight);
        part.max(weight / FIRST_PART).max(weight.min(1))
    }

    /// Notes a result of the checks. True when it changes the state.
    pub(crate) fn set_up(&self, up: bool) -> bool {
        if up {
            self.succeeded();
        }
        let has_changed = self.down.swap(!up, Ordering::Relaxed) == up;
        if has_changed && up {
            self.back_since.store(Millis::of(Instant::now()).0, Ordering::Relaxed);
        }
        has_changed
    }

    /// A request was answered.
    pub(crate) fn succeeded(&self) {
        if self.n_failures.load(Ordering::Relaxed) != 0 {
            self.n_failures.store(0, Ordering::Relaxed);
            let avoided_until = self.avoided_until.swap(0, Ordering::Relaxed);
            if avoided_until != 0 {
                // It may be answered while it is avoided, as others are, too.
                let since = avoided_until.min(Millis::of(Instant::now()).0);
                self.back_since.fetch_max(since, Ordering::Relaxed);
            }
        }
    }

    /// A request was not answered. True when the server is avoided from now on.
    pub(crate) fn failed(&self, rules: &PassiveHealth, now: Millis) -> bool {
        let span = rules.fail_timeout.as_millis() as u64;
        if now.0.saturating_sub(self.first_failure.load(Ordering::Relaxed)) > span {
            self.first_failure.store(now.0, Ordering::Relaxed);
            self.n_failures.store(0, Ordering::Relaxed);
        }
        let n_failures = self.n_failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if rules.max_fails == 0 || n_failures < rules.max_fails {
            return false;
        }
        let was_avoided = self.is_avoided(now);
        self.avoided_until.store(now.0 + span, Ordering::Relaxed);
        !was_avoided
    }
}

/// Counts checks in a row, until there are enough of them to change what is known.
#[derive(Debug)]
pub(crate) struct CheckStreak {
    up: bool,
    n_others: u32,
}

impl CheckStreak {
    /// A server is taken to be well until checks say otherwise.
    pub(crate) fn new(up: bool) -> Self {
        Self { up, n_others: 0 }
    }

    /// Takes a check's result; what is known afterwards.
    pub(crate) fn note(&mut self, well: bool, rises: u32, falls: u32) -> bool {
        self.n_others = if well == self.up { 0 } else { self.n_others + 1 };
        if self.n_others >= if self.up { falls } else { rises } {
            self.up = !self.up;
            self.n_others = 0;
        }
        self.up
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// `f` a failure, `s` a success, digits seconds that pass; then whether it is avoided.
    #[track_caller]
    fn check(max_fails: u32, events: &str, expect: bool) {
        let rules = PassiveHealth { max_fails, fail_timeout: Duration::from_secs(5) };
        let health = Health::default();
        let mut now = Millis(1000);
        for event in events.chars() {
            match event {
                'f' => drop(health.failed(&rules, now)),
                's' => health.succeeded(),
                digit => now.0 += u64::from(digit.to_digit(10).expect("a digit")) * 1000,
            }
        }
        assert_eq!(health.is_avoided(now), expect, "{max_fails} {events}");
    }

    #[test]
    fn failures_within_the_time_are_enough() {
        check(1, "", false);
        check(1, "f", true);
        check(1, "f4", true);
        check(1, "f6", false);
        check(1, "f6f", true);
        check(1, "fs", false);
        check(3, "ff", false);
        check(3, "fff", true);
        check(3, "ffsf", false);
        check(3, "ff6f", false);
        check(3, "f2f2f", true);
        check(0, "ffffff", false);
    }

    /// `+` a check that succeeds, `-` one that fails; then what is known.
    #[track_caller]
    fn check_streak(results: &str, expect: bool) {
        let mut streak = CheckStreak::new(true);
        let last = results.chars().map(|result| streak.note(result == '+', 2, 3)).last();
        assert_eq!(last, Some(expect), "{results}");
    }

    #[test]
    fn checks_count_in_a_row() {
        check_streak("--", true);
        check_streak("---", false);
        check_streak("--+--", true);
        check_streak("---+", false);
        check_streak("---++", true);
        check_streak("---+-+", false);
    }

    /// The weight of 1000 so many milliseconds after the end of the time for which the server is avoided.
    #[track_caller]
    fn check_ramp(health: &Health, after: u64, expect: u64) {
        let weight = health.ramped(1000, Duration::from_secs(10), Millis(6000 + after));
        assert_eq!(weight, expect, "{after} ms");
    }

    #[test]
    fn weights_grow_after_a_server_has_come_back() {
        let health = Health::default();
        check_ramp(&health, 0, 1000);
        health.failed(&PassiveHealth { max_fails: 1, fail_timeout: Duration::from_secs(5) }, Millis(1000));
        for (after, expect) in [(0, 10), (50, 10), (2500, 250), (9999, 999), (10_000, 1000), (50_000, 1000)] {
            check_ramp(&health, after, expect);
        }
        let weight = |weight| health.ramped(weight, Duration::from_secs(10), Millis(6001));
        assert_eq!([0, 1, 5].map(weight), [0, 1, 1], "none is never chosen, and none vanishes");
    }

    #[test]
    fn changes_are_told_once() {
        let health = Health::default();
        assert!(!health.set_up(true) && health.set_up(false) && !health.set_up(false));
        assert!(!health.is_up() && health.set_up(true) && health.is_up());
    }
}
