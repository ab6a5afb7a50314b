//! "I sleep": one word by which a side says that it must be woken, so that nobody wakes those who are up.
//!
//! The sleeper stores the flag, fences, and looks once more for work. The waker publishes work, fences,
//! and looks at the flag. The two fences are sequentially consistent, so at least one of the sides sees
//! the other: either the sleeper finds the work, or the waker finds the flag. Both may; that costs one
//! wake-up for nothing.

use std::time::Duration;

use crate::sync::{FutexWord, Ordering, fence};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;

/// The word. All zeros (awake) is its first state.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct SleepFlag(FutexWord);

impl SleepFlag {
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self(FutexWord::new())
    }

    /// Sleeper: says so. Whatever it must not miss has to be looked at after this call.
    pub(crate) fn announce(&self) {
        self.0.store(ASLEEP, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Sleeper: up again.
    pub(crate) fn cancel(&self) {
        self.0.store(AWAKE, Ordering::Relaxed);
    }

    /// Waker, after it has published: whether the other side sleeps and this caller is the one to wake it.
    ///
    /// For a peer that is awake this is a fence and a load of a cache line that does not change.
    pub(crate) fn claim(&self) -> bool {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) != AWAKE && self.0.swap(AWAKE, Ordering::Relaxed) != AWAKE
    }

    /// Anybody, for a look without consequences.
    #[cfg(not(loom))]
    pub(crate) fn is_announced(&self) -> bool {
        self.0.load(Ordering::Relaxed) != AWAKE
    }

    /// Sleeper: sleeps unless `ready`, which is asked after the announcement. May return early.
    pub(crate) fn sleep_unless(&self, timeout: Option<Duration>, ready: impl FnOnce() -> bool) {
        self.announce();
        if !ready() {
            self.0.wait(ASLEEP, timeout);
        }
        self.cancel();
    }

    /// Waker: ends `sleep_unless` on the other side. One system call, none when nobody sleeps.
    pub(crate) fn wake(&self) -> bool {
        let asleep = self.claim();
        if asleep {
            self.0.wake();
        }
        asleep
    }
}
