//! Counts of the requests that leave state behind in their workers.

use std::array;
use std::fmt::{self, Display, Formatter};
use std::sync::atomic::{AtomicU64, Ordering};

use corral_ipc::message::{LeftState, STATE_KINDS};

/// The counts of one application.
#[derive(Debug, Default)]
pub(super) struct LeftStateCounts {
    requests: AtomicU64,
    kinds: [AtomicU64; STATE_KINDS.len()],
}

impl LeftStateCounts {
    /// Counts a request of an application that leaves these kinds, a bit each. Bits without a kind are ignored. The
    /// tenth request, the hundredth and so on are logged with all counts, so that the log of a leak stays short.
    pub(super) fn note(&self, app: &str, kinds: u32) {
        let n_requests = self.add(kinds);
        if n_requests >= 10 && n_requests == 10_u64.pow(n_requests.ilog10()) {
            tracing::warn!("\"{app}\": {n_requests} requests have left state behind: {self} (worker.guard)");
        }
    }

    /// Returns how many requests were counted so far.
    fn add(&self, kinds: u32) -> u64 {
        for (number, count) in self.kinds.iter().enumerate() {
            if kinds & (1 << number) != 0 {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The counts so far.
    pub(super) fn figures(&self) -> LeftState {
        let kinds = array::from_fn(|number| self.kinds[number].load(Ordering::Relaxed));
        LeftState { requests: self.requests.load(Ordering::Relaxed), kinds }
    }
}

impl Display for LeftStateCounts {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let counts = self.kinds.iter().map(|count| count.load(Ordering::Relaxed));
        let counts = STATE_KINDS.iter().zip(counts).filter(|(_, count)| *count > 0);
        for (position, (kind, count)) in counts.enumerate() {
            write!(out, "{}{kind} {count}", if position > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_counted_and_others_are_ignored() {
        let counts = LeftStateCounts::default();
        let totals = [0b1001, 0b0001, u32::MAX].map(|kinds| counts.add(kinds));
        assert_eq!(totals, [1, 2, 3]);
        let figures = counts.figures();
        assert_eq!((figures.requests, figures.kinds[..5].to_vec()), (3, vec![3, 1, 1, 2, 1]));
    }

    #[test]
    fn kinds_that_nothing_was_left_of_are_not_shown() {
        let counts = LeftStateCounts::default();
        assert_eq!(counts.to_string(), "");
        for kinds in [0b1010, 0b0010] {
            counts.add(kinds);
        }
        assert_eq!(counts.to_string(), format!("{} 2, {} 1", STATE_KINDS[1], STATE_KINDS[3]));
    }
}
