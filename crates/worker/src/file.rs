//! Files that responses end with: which of them are left to the router.

use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};

use corral_sys::sendable;

/// Bytes from which on a file is left to the router. With WSGI on two cores, handing over costs as much of a processor
/// as sending 16 to 32 KiB through the ring, and half of what 64 KiB cost there; a client that waits for less has it
/// sooner by the ring.
const WORTH_IT: u64 = 32 * 1024;

/// A part of an open file, which the router can send by itself.
#[derive(Debug, Clone)]
pub struct FileRest<'f> {
    file: BorrowedFd<'f>,
    part: Range<u64>,
}

impl<'f> FileRest<'f> {
    /// From `offset` to the end. Nothing where it has to be read: because it is short, is not a regular file, or is on
    /// a file system that an event loop could wait for.
    #[must_use]
    pub fn of(file: BorrowedFd<'f>, offset: u64) -> Option<Self> {
        // Most files are short: one question is enough for them.
        let size = u64::try_from(rustix::fs::fstat(file).ok()?.st_size).ok()?;
        let rest = Self { file, part: offset..size };
        let is_long = rest.n_bytes() >= WORTH_IT;
        (is_long && sendable::size(file).is_ok_and(|size| size.is_some())).then_some(rest)
    }

    /// Bytes of it.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.part.end.saturating_sub(self.part.start)
    }

    /// So many bytes of it from its beginning, if there are more.
    #[must_use]
    pub fn at_most(self, n_bytes: u64) -> Self {
        let end = self.part.end.min(self.part.start.saturating_add(n_bytes));
        Self { part: self.part.start..end, ..self }
    }

    pub(crate) fn part(&self) -> Range<u64> {
        self.part.clone()
    }
}

impl AsFd for FileRest<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file
    }
}
