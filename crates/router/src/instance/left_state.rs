//! Counts of the requests that leave state behind in their workers.

use std::array;
use std::sync::atomic::{AtomicU64, Ordering};

use corral_ipc::message::{LeftState, STATE_KINDS};

/// The counts of one application.
#[derive(Debug, Default)]
pub(super) struct Counts {
    requests: AtomicU64,
    kinds: [AtomicU64; STATE_KINDS.len()],
}

impl Counts {
    /// Counts a request that leaves these kinds, a bit each. Bits without a kind are ignored.
    pub(super) fn add(&self, kinds: u32) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        for (number, count) in self.kinds.iter().enumerate() {
            if kinds & (1 << number) != 0 {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// What has been counted so far.
    pub(super) fn figures(&self) -> LeftState {
        let kinds = array::from_fn(|number| self.kinds[number].load(Ordering::Relaxed));
        LeftState { requests: self.requests.load(Ordering::Relaxed), kinds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_counted_and_others_are_ignored() {
        let counts = Counts::default();
        [0b1001, 0b0001, u32::MAX].into_iter().for_each(|kinds| counts.add(kinds));
        let figures = counts.figures();
        assert_eq!((figures.requests, figures.kinds[..5].to_vec()), (3, vec![3, 1, 1, 2, 1]));
    }
}
