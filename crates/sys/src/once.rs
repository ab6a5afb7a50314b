//! Words that were said already, known to a process and to all that are forked from it.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::memory::SharedMemory;

/// Remarks that there is room for; further ones are not made.
const ROOM: usize = 512;

/// Remarks by their hashes, in memory that forked processes share.
#[derive(Debug)]
pub struct SharedOnce {
    memory: SharedMemory,
}

impl SharedOnce {
    /// Nothing was said yet.
    ///
    /// # Errors
    /// Errors of memfd_create(2) and mmap(2).
    pub fn new() -> io::Result<Self> {
        let (memory, _) = SharedMemory::create("said", ROOM * size_of::<AtomicU64>())?;
        Ok(Self { memory })
    }

    /// Whether this is said for the first time; from now on it was said.
    #[must_use]
    pub fn is_first(&self, remark: &str) -> bool {
        let hash = hash(remark);
        for place in self.places() {
            match place.compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) if other == hash => return false,
                Err(_) => {}
            }
        }
        false
    }

    fn places(&self) -> &[AtomicU64] {
        let first = self.memory.as_ptr().cast::<AtomicU64>();
        // SAFETY: The mapping begins at a page, has room for that many zeroed numbers, lives as long as `self`, and is
        // used in no other way.
        unsafe { std::slice::from_raw_parts(first.as_ptr(), ROOM) }
    }
}

/// FNV-1a, the same in every process. Never zero, which is an empty place.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_remark_is_made_once() {
        let said = SharedOnce::new().unwrap();
        assert!(said.is_first("one"));
        assert!(said.is_first("two"));
        assert!(!said.is_first("one"));
        assert!(!said.is_first("two"));
        assert!(said.is_first(""));
        assert!(!said.is_first(""));
    }

    #[test]
    fn many_threads_make_one_remark() {
        let said = SharedOnce::new().unwrap();
        let n_first = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| said.is_first("the same"))).collect();
            threads.into_iter().map(|thread| u32::from(thread.join().unwrap())).sum::<u32>()
        });
        assert_eq!(n_first, 1);
    }

    #[test]
    fn what_there_is_no_room_for_is_not_said() {
        let said = SharedOnce::new().unwrap();
        let n_first = (0..ROOM + 10).filter(|n| said.is_first(&n.to_string())).count();
        assert_eq!(n_first, ROOM);
    }
}
