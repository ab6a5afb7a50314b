//! A response that its client has not read yet: in memory first, then in an unlinked temporary file.
//!
//! All responses of an event loop together have a bound as well, so that many clients that do not read cost files
//! and not memory.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::{buffers, temp};

/// Bytes of one response that are kept in memory before the rest goes to a file.
const MAX_IN_MEMORY: u64 = 256 * 1024;

/// Bytes of all responses of an event loop that are kept in memory.
const MAX_IN_LOOP: u64 = 8 * 1024 * 1024;

/// Bytes read back from the file at a time. A client that reads nothing holds as many.
const READ_STEP: u64 = 16 * 1024;

thread_local! {
    /// What all responses of this event loop have in memory.
    static IN_LOOP: Cell<u64> = const { Cell::new(0) };
}

/// Pieces in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    memory: VecDeque<Vec<u8>>,
    n_in_memory: u64,
    /// What their buffers take.
    reserved: u64,
    /// What came after the pieces in memory.
    file: Option<Tail>,
}

#[derive(Debug)]
struct Tail {
    file: File,
    read: u64,
    written: u64,
}

impl Spool {
    /// Stores a piece behind the others.
    pub(crate) fn push(&mut self, piece: Vec<u8>) -> io::Result<()> {
        if self.file.is_none() && self.reserve(piece.capacity() as u64) {
            self.n_in_memory += piece.len() as u64;
            self.memory.push_back(piece);
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(Tail { file: temp::file()?, read: 0, written: 0 });
        }
        if let Some(tail) = &mut self.file {
            tail.file.write_all_at(&piece, tail.written)?;
            tail.written += piece.len() as u64;
        }
        buffers::give(piece);
        Ok(())
    }

    /// Takes the oldest piece.
    pub(crate) fn pop(&mut self) -> io::Result<Option<Vec<u8>>> {
        if let Some(piece) = self.memory.pop_front() {
            self.n_in_memory -= piece.len() as u64;
            self.release(piece.capacity() as u64);
            return Ok(Some(piece));
        }
        let Some(tail) = &mut self.file else { return Ok(None) };
        let len = READ_STEP.min(tail.written - tail.read);
        let mut piece = buffers::take();
        piece.resize(len as usize, 0);
        tail.file.read_exact_at(&mut piece, tail.read)?;
        tail.read += len;
        if tail.read == tail.written {
            self.file = None;
        }
        Ok(Some(piece))
    }

    fn reserve(&mut self, size: u64) -> bool {
        let fits = self.reserved + size <= MAX_IN_MEMORY && IN_LOOP.get() + size <= MAX_IN_LOOP;
        if fits {
            self.reserved += size;
            IN_LOOP.set(IN_LOOP.get() + size);
        }
        fits
    }

    fn release(&mut self, size: u64) {
        self.reserved -= size;
        IN_LOOP.set(IN_LOOP.get() - size);
    }

    /// Bytes stored.
    pub(crate) fn len(&self) -> u64 {
        self.n_in_memory + self.file.as_ref().map_or(0, |tail| tail.written - tail.read)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.release(self.reserved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes pieces of these sizes, then pops everything and compares.
    #[track_caller]
    fn check(sizes: &[usize]) {
        let mut spool = Spool::default();
        let mut expected = Vec::new();
        for (number, &size) in sizes.iter().enumerate() {
            let piece = vec![number as u8; size];
            expected.extend_from_slice(&piece);
            spool.push(piece).expect("store a piece");
        }
        assert_eq!(spool.len(), expected.len() as u64);
        let mut got = Vec::new();
        while let Some(piece) = spool.pop().expect("read a piece") {
            got.extend_from_slice(&piece);
        }
        assert!(got == expected, "pieces of {sizes:?} came back changed");
        assert_eq!(spool.len(), 0);
    }

    #[test]
    fn small_responses_stay_in_memory() {
        check(&[1, 2, 3]);
    }

    #[test]
    fn large_ones_come_back_from_the_file_in_order() {
        check(&[200_000, 100_000, 1, 70_000, 300_000]);
    }

    #[test]
    fn many_responses_share_what_there_is_in_memory() {
        let mut spools: Vec<Spool> = (0..100).map(|_| Spool::default()).collect();
        for spool in &mut spools {
            spool.push(vec![1; 200_000]).expect("store a piece");
        }
        let n_in_memory = spools.iter().filter(|spool| spool.file.is_none()).count() as u64;
        assert_eq!(n_in_memory, MAX_IN_LOOP / 200_000);
        spools.clear();
        assert_eq!(IN_LOOP.get(), 0);
        check(&[200_000]);
    }

    #[test]
    fn nothing_gives_nothing() {
        check(&[]);
    }

    #[test]
    fn after_the_file_is_read_memory_is_used_again() {
        let mut spool = Spool::default();
        spool.push(vec![1; 300_000]).expect("store");
        while spool.pop().expect("read").is_some() {}
        spool.push(vec![2; 10]).expect("store");
        assert!(spool.file.is_none());
        assert_eq!(spool.pop().expect("read"), Some(vec![2; 10]));
    }
}
