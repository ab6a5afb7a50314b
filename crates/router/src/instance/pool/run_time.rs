//! How long requests of an application run of late.

use std::time::Duration;

/// A moving average: a few requests are enough to notice a change.
#[derive(Debug, Default)]
pub(super) struct RunTime {
    /// Eight times the average, in microseconds; none before the first request.
    eightfold: Option<u64>,
}

impl RunTime {
    /// A request ran for this many microseconds.
    pub(super) fn note(&mut self, micros: u32) {
        let known = self.eightfold.unwrap_or(u64::from(micros) * 8);
        self.eightfold = Some(known - known / 8 + u64::from(micros));
    }

    /// How long the next one is expected to run; for ever while nothing is known.
    pub(super) fn expected(&self) -> Duration {
        self.eightfold.map_or(Duration::MAX, |eightfold| Duration::from_micros(eightfold / 8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(micros: &[u32], expect: Duration) {
        let mut run_time = RunTime::default();
        micros.iter().for_each(|&micros| run_time.note(micros));
        assert_eq!(run_time.expected(), expect, "after {micros:?}");
    }

    #[test]
    fn it_follows_what_was_seen() {
        check(&[], Duration::MAX);
        check(&[12, 12, 12], Duration::from_micros(12));
        check(&[10, 10, 90], Duration::from_micros(20));
    }
}
