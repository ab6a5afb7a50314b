//! Workers that end before they have served anything: the first are replaced at once, the next ever later.
//! Pure: time comes in.

use std::time::{Duration, Instant};

/// Deaths of new workers, one after the other.
#[derive(Debug, Default)]
pub(super) struct CrashLoop {
    n_deaths: u32,
    not_before: Option<Instant>,
}

impl CrashLoop {
    /// A worker has ended that had served nothing.
    pub(super) fn died(&mut self, now: Instant) {
        self.n_deaths = self.n_deaths.saturating_add(1);
        let delay = match self.n_deaths.checked_sub(N_AT_ONCE) {
            None | Some(0) => return,
            Some(n) => LONGEST_DELAY.min(FIRST_DELAY * 2u32.saturating_pow(n - 1)),
        };
        self.not_before = Some(now + delay);
    }

    /// A worker has served something.
    pub(super) fn end(&mut self) {
        if self.n_deaths > 0 {
            *self = Self::default();
        }
    }

    /// Whether another one may be started.
    pub(super) fn allows_start(&self, now: Instant) -> bool {
        self.not_before.is_none_or(|at| at <= now)
    }
}

/// An operator may have killed some by hand.
const N_AT_ONCE: u32 = 5;

const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(16);

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds that each death delays the next start by.
    fn delays(crash_loop: &mut CrashLoop, n_deaths: usize, now: Instant) -> Vec<u64> {
        let mut delay = || {
            crash_loop.died(now);
            crash_loop.not_before.map_or(0, |at| (at - now).as_secs())
        };
        (0..n_deaths).map(|_| delay()).collect()
    }

    #[test]
    fn delays_grow_until_something_is_served() {
        let now = Instant::now();
        let mut crash_loop = CrashLoop::default();
        assert_eq!(delays(&mut crash_loop, 12, now), [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 16, 16]);
        assert!(!crash_loop.allows_start(now));
        assert!(crash_loop.allows_start(now + LONGEST_DELAY));
        crash_loop.end();
        assert!(crash_loop.allows_start(now));
        assert_eq!(delays(&mut crash_loop, 2, now), [0, 0]);
    }
}
