//! A limit on requests at the same time, shared by all event loops. Only keys with a request are known, so that there
//! are never more of them than requests.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::{LimitCounts, LimitKey};

/// The requests of each key.
pub(super) struct Concurrency {
    most: u32,
    state: Mutex<KeyCounts>,
}

#[derive(Default)]
struct KeyCounts {
    by_key: HashMap<u64, u32>,
    passed: u64,
    refused: u64,
}

impl Concurrency {
    pub(super) fn new(most: u32) -> Self {
        Self { most, state: Mutex::default() }
    }

    /// Whether there was room for one more, which is to [leave](Self::leave) in the end.
    pub(super) fn enter(&self, LimitKey(key): LimitKey) -> bool {
        let mut state = self.state.lock();
        let n_held = state.by_key.entry(key).or_default();
        let has_permit = *n_held < self.most;
        *n_held += u32::from(has_permit);
        state.passed += u64::from(has_permit);
        state.refused += u64::from(!has_permit);
        has_permit
    }

    pub(super) fn leave(&self, LimitKey(key): LimitKey) {
        let mut state = self.state.lock();
        if let Some(n_held) = state.by_key.get_mut(&key) {
            *n_held -= 1;
            if *n_held == 0 {
                state.by_key.remove(&key);
            }
        }
    }

    pub(super) fn tally(&self) -> LimitCounts {
        let state = self.state.lock();
        let keys = state.by_key.len() as u64;
        LimitCounts { passed: state.passed, delayed: 0, refused: state.refused, keys }
    }
}
