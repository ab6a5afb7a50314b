//! The sleep flag: one word by which a side says that it must be woken, so that a side that is up never is.
//!
//! The sleeper stores the flag, fences, and looks once more for work. The waker publishes work, fences,
//! and looks at the flag. The two fences are sequentially consistent, so at least one of the sides sees
//! the other: either the sleeper finds the work, or the waker finds the flag. Both may; that costs one
//! wake-up for nothing.

use std::time::Duration;

use crate::sync::{FutexWord, Ordering, fence};

const AWAKE: u32 = 0;
const ASLEEP: u32 = 1;
const AT_BELL: u32 = 2;

/// Place where a side sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bed {
    /// On the word: a futex.
    Word,
    /// In an event loop, until its bell rings.
    Bell,
}

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

    /// As [`SleepFlag::announce`], of a sleeper that is woken by its bell.
    #[cfg(not(loom))]
    pub(crate) fn announce_at_bell(&self) {
        self.0.store(AT_BELL, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Sleeper: up again.
    pub(crate) fn cancel(&self) {
        self.0.store(AWAKE, Ordering::Relaxed);
    }

    /// Waker, after it has published: whether the other side sleeps and this caller is the one to wake
    /// it.
    ///
    /// For a peer that is awake this is a fence and a load of a cache line that does not change. A
    /// caller that comes too late writes nothing, so nothing of it can get in the way of the next
    /// announcement.
    pub(crate) fn claim(&self) -> bool {
        self.claim_bed() == Some(Bed::Word)
    }

    /// As [`SleepFlag::claim`], for a waker that knows of the bell.
    pub(crate) fn claim_bed(&self) -> Option<Bed> {
        fence(Ordering::SeqCst);
        let word = self.0.load(Ordering::Relaxed);
        let bed = match word {
            ASLEEP => Bed::Word,
            AT_BELL => Bed::Bell,
            _ => return None,
        };
        let claimed = self.0.compare_exchange(word, AWAKE, Ordering::Relaxed, Ordering::Relaxed);
        claimed.is_ok().then_some(bed)
    }

    /// Either side: a look without consequences.
    pub(crate) fn is_announced(&self) -> bool {
        self.0.load(Ordering::Relaxed) != AWAKE
    }

    /// Sleeper: sleeps unless `ready`, which is asked after the announcement; true if it took a system
    /// call. May return early.
    pub(crate) fn sleep_unless(&self, timeout: Option<Duration>, ready: impl FnOnce() -> bool) -> bool {
        self.announce();
        let sleeps = !ready();
        if sleeps {
            self.0.wait(ASLEEP, timeout);
        }
        self.cancel();
        sleeps
    }

    /// Sleeper that has announced it: sleeps unless that was ended since; may return early.
    pub(crate) fn sleep(&self, timeout: Option<Duration>) {
        self.0.wait(ASLEEP, timeout);
    }

    /// Any thread on the sleepers' side: ends all their sleep.
    pub(crate) fn end_all(&self) {
        self.cancel();
        self.0.wake_all();
    }

    /// Waker whose `claim` succeeded: one system call, which can be made later.
    pub(crate) fn end_sleep(&self) {
        self.0.wake();
    }

    /// Waker: ends `sleep_unless` on the other side. One system call, none without a sleeper.
    #[cfg(loom)]
    pub(crate) fn wake(&self) -> bool {
        let asleep = self.claim();
        if asleep {
            self.end_sleep();
        }
        asleep
    }
}

/// A producer that found no room sleeps unless `ready`, as by [`SleepFlag::sleep_unless`].
///
/// A worker has one word to sleep on and many reasons, so `wants_room` tells the consumer that this
/// reason is its own.
pub(crate) fn sleep_for_room(
    sleeping: &SleepFlag,
    wants_room: &SleepFlag,
    timeout: Option<Duration>,
    ready: impl FnOnce() -> bool,
) -> bool {
    wants_room.announce();
    let slept = sleeping.sleep_unless(timeout, ready);
    wants_room.cancel();
    slept
}

/// Whether a consumer that has read has to wake the producer, if that sleeps.
///
/// `wants_room` is only looked at: a producer that has set it may not have said yet that it sleeps, and would not be
/// found by the next call if this one cleared it.
pub(crate) fn is_room_wanted(wants_room: &SleepFlag) -> bool {
    fence(Ordering::SeqCst);
    wants_room.is_announced()
}
