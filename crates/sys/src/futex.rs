//! Sleeping on a word of shared memory. These are shared futexes: sleeper and waker may be different processes.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::thread::futex::{self, Flags};
use rustix::time::Timespec;

/// Sleeps while `word` holds `expected`, until a `wake`, a signal or the time-out.
///
/// Spurious returns are possible and not reported: look at the memory again and decide anew.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    // A time-out beyond what the kernel can hold is as good as none.
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    // EAGAIN (the word has changed), EINTR and ETIMEDOUT all mean "look again".
    let _ = futex::wait(word, Flags::empty(), expected, timeout.as_ref());
}

/// Wakes up to `n` sleepers and says how many there were.
pub fn wake(word: &AtomicU32, n: u32) -> usize {
    // The kernel refuses only words that are not mapped or not aligned, which a reference excludes.
    futex::wake(word, Flags::empty(), n).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::thread;

    use super::*;

    #[test]
    fn a_changed_word_is_not_slept_on() {
        wait(&AtomicU32::new(1), 0, None);
    }

    #[test]
    fn a_timeout_ends_the_sleep() {
        wait(&AtomicU32::new(0), 0, Some(Duration::from_millis(1)));
    }

    #[test]
    fn nobody_sleeps_nobody_wakes() {
        assert_eq!(wake(&AtomicU32::new(0), 1), 0);
    }

    #[test]
    fn a_sleeper_is_woken() {
        let word = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(Ordering::Acquire) == 0 {
                    wait(&word, 0, None);
                }
            });
            word.store(1, Ordering::Release);
            wake(&word, 1);
        });
    }
}
