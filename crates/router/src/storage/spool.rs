//! A response that its client has not read yet: in memory first, then in an unlinked temporary file.
//!
//! All responses together have a bound as well, so that many clients that do not read cost files and not memory. Where
//! no file can be written, what has come stays in memory and the worker has to wait: it has the right to send little
//! more.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::storage::buffered::HeldMemory;
use crate::storage::{buffers, temp};

mod failures;

/// Bytes of one response that are kept in memory before the rest goes to a file.
const MAX_IN_MEMORY: u64 = 256 * 1024;

/// Bytes read back from the file at a time. A client that reads nothing holds as many.
const READ_STEP: u64 = 16 * 1024;

/// Pieces in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    memory: VecDeque<Vec<u8>>,
    n_in_memory: u64,
    /// The memory of their buffers, and that of the piece that was taken last: it is on its way.
    held: HeldMemory,
    n_on_its_way: u64,
    /// The bytes that came after the pieces in memory.
    file: Option<SpoolFile>,
    /// The bytes that came after those in the file and could not be written.
    stuck: VecDeque<Vec<u8>>,
    n_stuck: u64,
}

#[derive(Debug)]
struct SpoolFile {
    file: File,
    read: u64,
    written: u64,
}

impl Spool {
    /// Stores a piece behind the others.
    pub(crate) fn push(&mut self, piece: Vec<u8>) {
        let is_stuck = self.is_stuck();
        if !is_stuck && self.file.is_none() && self.hold(piece.capacity() as u64) {
            self.n_in_memory += piece.len() as u64;
            self.memory.push_back(piece);
            return;
        }
        let written = if is_stuck { None } else { Some(self.write(&piece)) };
        if let Some(Ok(())) = written {
            return buffers::give(piece);
        }
        if let Some(Err(error)) = written {
            failures::report(&error);
        }
        self.n_stuck += piece.len() as u64;
        self.stuck.push_back(piece);
    }

    fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        let tail = match &mut self.file {
            Some(tail) => tail,
            none => none.insert(SpoolFile { file: temp::file()?, read: 0, written: 0 }),
        };
        tail.file.write_all_at(piece, tail.written)?;
        tail.written += piece.len() as u64;
        temp::count(piece.len());
        Ok(())
    }

    /// Whether more of it should not be asked for before its client has read.
    pub(crate) fn is_stuck(&self) -> bool {
        !self.stuck.is_empty()
    }

    /// Takes the oldest piece.
    pub(crate) fn pop(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.held.shrink(std::mem::take(&mut self.n_on_its_way));
        if let Some(piece) = self.memory.pop_front() {
            self.n_in_memory -= piece.len() as u64;
            self.n_on_its_way = piece.capacity() as u64;
            return Ok(Some(piece));
        }
        let Some(tail) = self.file.as_mut().filter(|tail| tail.read < tail.written) else {
            self.file = None;
            return Ok(self.stuck.pop_front().inspect(|piece| self.n_stuck -= piece.len() as u64));
        };
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

    fn hold(&mut self, size: u64) -> bool {
        self.held.bytes() + size <= MAX_IN_MEMORY && self.held.grow(size)
    }

    /// Bytes stored.
    pub(crate) fn len(&self) -> u64 {
        self.n_in_memory + self.n_stuck + self.file.as_ref().map_or(0, |tail| tail.written - tail.read)
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use corral_config::settings::ServerLimits;

    use super::*;
    use crate::storage::buffered;

    /// A file that takes nothing, as on a full disk.
    fn full() -> SpoolFile {
        let file = File::open("/dev/null").expect("it is there");
        SpoolFile { file, read: 0, written: 0 }
    }

    #[test]
    fn without_room_for_a_file_the_order_stays_and_more_is_not_asked_for() {
        let mut spool = Spool::default();
        spool.push(vec![0; MAX_IN_MEMORY as usize]);
        spool.file = Some(full());
        spool.push(vec![1; 1000]);
        assert!(spool.is_stuck());
        spool.push(vec![2; 10]);
        assert_eq!(spool.len(), MAX_IN_MEMORY + 1010);
        for expected in [MAX_IN_MEMORY as usize, 1000, 10] {
            assert_eq!(spool.pop().expect("read").map(|piece| piece.len()), Some(expected));
        }
        assert!(!spool.is_stuck() && spool.file.is_none() && spool.len() == 0);
        spool.push(vec![3; 300_000]);
        assert!(!spool.is_stuck(), "it is tried again");
    }

    /// Pushes pieces of these sizes, then pops everything and compares.
    #[track_caller]
    fn check(sizes: &[usize]) {
        let mut spool = Spool::default();
        let mut expected = Vec::new();
        for (number, &size) in sizes.iter().enumerate() {
            let piece = vec![number as u8; size];
            expected.extend_from_slice(&piece);
            spool.push(piece);
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
        let mut spools: Vec<Spool> = (0..300).map(|_| Spool::default()).collect();
        for spool in &mut spools {
            spool.push(vec![1; 200_000]);
        }
        let n_in_memory = spools.iter().filter(|spool| spool.file.is_none()).count() as u64;
        assert_eq!(n_in_memory, ServerLimits::default().buffered_bytes / 200_000);
        spools.clear();
        assert_eq!(buffered::held(), 0);
        check(&[200_000]);
    }

    #[test]
    fn nothing_gives_nothing() {
        check(&[]);
    }

    #[test]
    fn after_the_file_is_read_memory_is_used_again() {
        let mut spool = Spool::default();
        spool.push(vec![1; 300_000]);
        while spool.pop().expect("read").is_some() {}
        spool.push(vec![2; 10]);
        assert!(spool.file.is_none());
        assert_eq!(spool.pop().expect("read"), Some(vec![2; 10]));
    }
}
