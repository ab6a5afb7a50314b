//! Whether a server is used: what requests to it and checks of it have shown. Shared by all event loops and
//! the thread that makes the checks; neither waits for the other.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

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
}

impl Health {
    /// Whether the checks, if there are any, find the server well.
    pub(crate) fn is_up(&self) -> bool {
        !self.down.load(Ordering::Relaxed)
    }

    /// Whether requests that have failed speak against giving it another one.
    pub(crate) fn is_avoided(&self, now: Millis) -> bool {
        now.0 < self.avoided_until.load(Ordering::Relaxed)
    }

    /// Notes a result of the checks. True when it changes the state.
    pub(crate) fn set_up(&self, up: bool) -> bool {
        if up {
            self.succeeded();
        }
        self.down.swap(!up, Ordering::Relaxed) == up
    }

    /// A request was answered.
    pub(crate) fn succeeded(&self) {
        if self.n_failures.load(Ordering::Relaxed) != 0 {
            self.n_failures.store(0, Ordering::Relaxed);
            self.avoided_until.store(0, Ordering::Relaxed);
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

    #[test]
    fn changes_are_told_once() {
        let health = Health::default();
        assert!(!health.set_up(true) && health.set_up(false) && !health.set_up(false));
        assert!(!health.is_up() && health.set_up(true) && health.is_up());
    }
}
