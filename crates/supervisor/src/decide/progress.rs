//! The times at which a start that takes long is mentioned, at the terminal where it is waited for.

use std::time::{Duration, Instant};

/// The words that have been said of a start that takes long.
#[derive(Debug)]
pub(crate) struct Progress {
    since: Instant,
    /// When something is said next, and how long that was waited for.
    next: (Instant, Duration),
}

/// How long a start may take before it is mentioned first.
const FIRST_PAUSE: Duration = Duration::from_secs(3);

impl Progress {
    pub(crate) fn new(now: Instant) -> Self {
        Self { since: now, next: (now + FIRST_PAUSE, FIRST_PAUSE) }
    }

    /// When something is said next.
    pub(crate) fn next(&self) -> Instant {
        self.next.0
    }

    /// How long it has taken, if it is time to say so. Each pause is twice the one before.
    pub(crate) fn is_due(&mut self, now: Instant) -> Option<Duration> {
        let (at, pause) = self.next;
        if now < at {
            return None;
        }
        self.next = (now + 2 * pause, 2 * pause);
        Some(now.saturating_duration_since(self.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_start_is_mentioned_ever_less_often() {
        let now = Instant::now();
        let mut progress = Progress::new(now);
        let mut said = Vec::new();
        for second in 0..40 {
            said.extend(progress.is_due(now + Duration::from_secs(second)).map(|taken| taken.as_secs()));
        }
        assert_eq!(said, [3, 9, 21]);
    }
}
