//! The atomics that the channel is made of. Under `cfg(loom)` they are model-checked ones, and the
//! kernel's futex is modelled by a mutex and a condition variable: nothing else knows the difference.

pub(crate) use imp::{AtomicU32, AtomicU64, FutexWord, Ordering, fence};

#[cfg(not(loom))]
mod imp {
    pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

    use std::ops::Deref;
    use std::time::Duration;

    use corral_sys::futex;

    /// A word that one process can sleep on.
    #[repr(transparent)]
    #[derive(Debug)]
    pub(crate) struct FutexWord(AtomicU32);

    impl FutexWord {
        /// Sleeps while the word is `expected`; may return for no reason.
        pub(crate) fn wait(&self, expected: u32, timeout: Option<Duration>) {
            futex::wait(&self.0, expected, timeout);
        }

        /// Wakes a sleeper; mostly there is one.
        pub(crate) fn wake(&self) {
            futex::wake(&self.0, 1);
        }

        /// Wakes all sleepers.
        pub(crate) fn wake_all(&self) {
            futex::wake(&self.0, i32::MAX.unsigned_abs());
        }
    }

    impl Deref for FutexWord {
        type Target = AtomicU32;

        fn deref(&self) -> &AtomicU32 {
            &self.0
        }
    }
}

#[cfg(loom)]
mod imp {
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

    use std::ops::Deref;
    use std::time::Duration;

    use loom::sync::{Condvar, Mutex};

    /// A word that one thread can sleep on. The mutex is the kernel's lock of the hash bucket: the
    /// comparison and the falling asleep are one step for the waker.
    #[derive(Debug)]
    pub(crate) struct FutexWord {
        word: AtomicU32,
        bucket: Mutex<()>,
        sleepers: Condvar,
    }

    impl FutexWord {
        pub(crate) fn new() -> Self {
            Self { word: AtomicU32::new(0), bucket: Mutex::new(()), sleepers: Condvar::new() }
        }

        pub(crate) fn wait(&self, expected: u32, _timeout: Option<Duration>) {
            let bucket = self.bucket.lock().unwrap();
            if self.word.load(Ordering::Relaxed) == expected {
                drop(self.sleepers.wait(bucket).unwrap());
            }
        }

        pub(crate) fn wake(&self) {
            let bucket = self.bucket.lock().unwrap();
            self.sleepers.notify_one();
            drop(bucket);
        }

        pub(crate) fn wake_all(&self) {
            let bucket = self.bucket.lock().unwrap();
            self.sleepers.notify_all();
            drop(bucket);
        }
    }

    impl Deref for FutexWord {
        type Target = AtomicU32;

        fn deref(&self) -> &AtomicU32 {
            &self.word
        }
    }
}
