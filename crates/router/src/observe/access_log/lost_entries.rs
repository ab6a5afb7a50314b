//! Writes to an access log that fail: on a full disk that is each of them, and the other log is on the same disk.

use std::io;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Failed writes are told of this often at most.
const INTERVAL: Duration = Duration::from_secs(60);

/// Entries that were lost since the last line about it.
#[derive(Default)]
pub(super) struct LostEntries(Mutex<LossCounts>);

#[derive(Default)]
struct LossCounts {
    n_untold: u64,
    told: Option<Instant>,
}

impl LostEntries {
    /// Logs what became of a write, if it is a failure and time to do so.
    pub(super) fn note(&self, written: io::Result<()>) {
        if let Err(error) = written
            && let Some(n) = self.0.lock().due(Instant::now())
        {
            tracing::error!("write to the access log: {error}; {n} failed writes since the last such line");
        }
    }
}

impl LossCounts {
    /// Counts a failure; how many there are to tell of, when it is time to.
    fn due(&mut self, now: Instant) -> Option<u64> {
        self.n_untold += 1;
        if self.told.is_some_and(|told| now.saturating_duration_since(told) < INTERVAL) {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.n_untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_of_once_a_minute() {
        let mut state = LossCounts::default();
        let start = Instant::now();
        assert_eq!(state.due(start), Some(1));
        assert_eq!(state.due(start + Duration::from_secs(1)), None);
        assert_eq!(state.due(start + Duration::from_secs(59)), None);
        assert_eq!(state.due(start + Duration::from_secs(60)), Some(3));
        assert_eq!(state.due(start + Duration::from_secs(61)), None);
    }
}
