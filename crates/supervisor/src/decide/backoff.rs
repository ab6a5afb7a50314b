//! When to start again what has died: at once at first, then ever later. Pure: time comes in.

use std::time::{Duration, Instant};

/// How long each restart waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RestartPace {
    n_at_once: u32,
    longest: Duration,
}

/// The pace of a process that is missed only by its own users, and each start of which costs all others.
const CAREFUL: RestartPace = RestartPace { n_at_once: 1, longest: Duration::from_secs(10) };

/// The pace of a process that all others wait for.
const EAGER: RestartPace = RestartPace { n_at_once: 5, longest: Duration::from_secs(1) };

/// The restarts of one process.
#[derive(Debug)]
pub(crate) struct Backoff {
    pace: RestartPace,
    /// Deaths in a row, each soon after the start.
    n_failures: u32,
    started: Instant,
    restart_at: Option<Instant>,
}

impl Backoff {
    pub(crate) fn new(now: Instant) -> Self {
        Self { pace: CAREFUL, n_failures: 0, started: now, restart_at: None }
    }

    /// For a process that all others wait for.
    pub(crate) fn eager(now: Instant) -> Self {
        Self { pace: EAGER, ..Self::new(now) }
    }

    /// The process was started.
    pub(crate) fn started(&mut self, now: Instant) {
        self.started = now;
        self.restart_at = None;
    }

    /// The process died or could not be started: sets the time of the next start.
    pub(crate) fn failed(&mut self, now: Instant) {
        let has_run = self.restart_at.is_none();
        if has_run && now.duration_since(self.started) >= STABLE_AFTER {
            self.n_failures = 0;
        }
        self.n_failures = self.n_failures.saturating_add(1);
        let delay = match self.n_failures.checked_sub(self.pace.n_at_once) {
            None | Some(0) => Duration::ZERO,
            Some(n) => self.pace.longest.min(FIRST_DELAY * 2u32.saturating_pow(n - 1)),
        };
        self.restart_at = Some(now + delay);
    }

    /// The process is to be started then.
    pub(crate) fn start_at(&mut self, at: Instant) {
        self.restart_at = Some(at);
    }

    /// How many deaths and failed starts there were in a row, and what follows; empty for the first.
    pub(crate) fn describe(&self, now: Instant) -> String {
        let wait = self.restart_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        match (self.n_failures, wait.is_zero()) {
            (0 | 1, _) => String::new(),
            (n, true) => format!(", {n} times in a row; starting it again at once"),
            (n, false) => format!(", {n} times in a row; starting it again in {} ms", wait.as_millis()),
        }
    }

    /// Whether it has failed no more often than may happen.
    pub(crate) fn is_patient(&self) -> bool {
        self.n_failures < self.pace.n_at_once
    }

    /// When to start again, if it is not running.
    pub(crate) fn restart_at(&self) -> Option<Instant> {
        self.restart_at
    }
}

const FIRST_DELAY: Duration = Duration::from_millis(100);

/// A process that has lived this long starts with a clean record.
const STABLE_AFTER: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    /// Lives in milliseconds; the delays before each restart come out.
    #[track_caller]
    fn check(lives: &[u64], expected: &[u64]) {
        check_pace(Backoff::new, lives, expected);
    }

    #[track_caller]
    fn check_pace(new: fn(Instant) -> Backoff, lives: &[u64], expected: &[u64]) {
        let mut now = Instant::now();
        let mut backoff = new(now);
        let mut delays = Vec::new();
        for life in lives {
            backoff.started(now);
            assert_eq!(backoff.restart_at(), None);
            now += Duration::from_millis(*life);
            backoff.failed(now);
            let at = backoff.restart_at().unwrap();
            delays.push(u64::try_from((at - now).as_millis()).unwrap());
            now = at;
        }
        assert_eq!(delays, expected);
    }

    #[test]
    fn delays_grow_and_are_forgotten() {
        check(&[50_000], &[0]);
        check(&[1, 1, 1, 1], &[0, 100, 200, 400]);
        check(&[1, 1, 20_000, 1], &[0, 100, 0, 100]);
        check(&[1; 10], &[0, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    }

    #[test]
    fn what_everybody_waits_for_is_back_within_a_second() {
        let expected = [0, 0, 0, 0, 0, 100, 200, 400, 800, 1000, 1000];
        check_pace(Backoff::eager, &[1; 11], &expected);
        check_pace(Backoff::eager, &[1, 1, 1, 1, 1, 1, 20_000, 1], &[0, 0, 0, 0, 0, 100, 0, 0]);
    }

    #[test]
    fn deaths_are_counted_in_words() {
        let mut now = Instant::now();
        let mut backoff = Backoff::eager(now);
        let words = [(); 6].map(|()| {
            backoff.started(now);
            now += Duration::from_millis(1);
            backoff.failed(now);
            backoff.describe(now)
        });
        assert_eq!(words[0], "");
        assert_eq!(words[1], ", 2 times in a row; starting it again at once");
        assert_eq!(words[5], ", 6 times in a row; starting it again in 100 ms");
    }

    #[test]
    fn what_cannot_be_started_has_no_clean_record() {
        let mut now = Instant::now();
        let mut backoff = Backoff::new(now);
        now += Duration::from_secs(100);
        let delays = [(); 4].map(|()| {
            backoff.failed(now);
            let delay = backoff.restart_at().unwrap() - now;
            now += delay;
            delay.as_millis()
        });
        assert_eq!(delays, [0, 100, 200, 400]);
    }
}
