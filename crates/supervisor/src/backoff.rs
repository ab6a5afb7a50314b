//! When to start again what has died: at once the first time, then ever later. Pure: time comes in.

use std::time::{Duration, Instant};

/// The restarts of one process.
#[derive(Debug)]
pub(crate) struct Backoff {
    /// Deaths in a row, each soon after the start.
    n_failures: u32,
    started: Instant,
    restart_at: Option<Instant>,
}

impl Backoff {
    pub(crate) fn new(now: Instant) -> Self {
        Self { n_failures: 0, started: now, restart_at: None }
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
        let delay = match self.n_failures {
            0 => Duration::ZERO,
            n => LONGEST_DELAY.min(FIRST_DELAY * 2u32.saturating_pow(n - 1)),
        };
        self.n_failures = self.n_failures.saturating_add(1);
        self.restart_at = Some(now + delay);
    }

    /// When to start again, if it is not running.
    pub(crate) fn restart_at(&self) -> Option<Instant> {
        self.restart_at
    }

    /// Whether it is time to start again.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.restart_at.is_some_and(|at| at <= now)
    }
}

const FIRST_DELAY: Duration = Duration::from_millis(100);
const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// A process that has lived this long starts with a clean record.
const STABLE_AFTER: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    /// Lives in milliseconds; the delays before each restart come out.
    #[track_caller]
    fn check(lives: &[u64], expected: &[u64]) {
        let mut now = Instant::now();
        let mut backoff = Backoff::new(now);
        let mut delays = Vec::new();
        for life in lives {
            backoff.started(now);
            assert!(!backoff.is_due(now));
            now += Duration::from_millis(*life);
            backoff.failed(now);
            let at = backoff.restart_at().unwrap();
            delays.push(u64::try_from((at - now).as_millis()).unwrap());
            now = at;
            assert!(backoff.is_due(now));
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
