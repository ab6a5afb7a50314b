//! Writes to an access log that fail: on a full disk that is each of them, and the other log is on the same disk.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Failed writes are told of this often at most.
const INTERVAL: Duration = Duration::from_secs(60);

/// Entries of all logs that were lost, in the whole process: logs come and go with configurations.
static N_LOST: AtomicU64 = AtomicU64::new(0);

/// How many entries were lost.
pub(crate) fn n_lost() -> u64 {
    N_LOST.load(Ordering::Relaxed)
}

/// Counts the entries of a write that has failed. The first of them may have been written all the same.
pub(super) fn count(entries: &[u8]) {
    let n_lines = entries.split_inclusive(|byte| *byte == b'\n').count();
    N_LOST.fetch_add(n_lines as u64, Ordering::Relaxed);
}

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
    fn each_entry_of_a_failed_write_is_lost() {
        let before = n_lost();
        for (entries, n) in [(&b"one\n"[..], 1), (b"one\ntwo\n", 2), (b"one\ntwo", 2), (b"", 0)] {
            let known = n_lost();
            count(entries);
            assert_eq!(n_lost() - known, n, "{entries:?}");
        }
        assert_eq!(n_lost() - before, 5);
    }

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
