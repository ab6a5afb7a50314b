//! The part of a file with which a worker ends a response: taken over as an open descriptor, never by its name.
//!
//! The descriptor comes through a socket beside the channel, and the worker is done with the frame that names it. The
//! router opens no path that an application names. It takes regular files on disks and in memory alone, because an
//! event loop waits for whatever it reads or closes.

use std::fs::File;
use std::io;

use corral_channel::message::{self, FilePart};
use corral_channel::{Arrived, FrameHead, FrameKind, LaneReceiver};
use corral_http::range::ByteRange;
use corral_sys::sendable::Sent;

use super::failure::AppFailure;

/// The part of an open file that is sent.
#[derive(Debug)]
pub(crate) struct SentFile {
    file: Sent,
    range: ByteRange,
}

impl SentFile {
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn range(&self) -> ByteRange {
        self.range
    }

    /// Whether it has become shorter than what was to be sent of it.
    pub(crate) fn is_cut(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.len() <= self.range.last)
    }

    /// A file that came, or why the response cannot be completed: it may have been cut on its way, and this process may
    /// have no room for it.
    pub(super) fn new(arrived: Option<Arrived>, part: FilePart) -> Result<Self, AppFailure> {
        let Arrived { file, size } = arrived.ok_or(AppFailure::NoDescriptor)?;
        // A part is never empty and never ends beyond what a number of these can say.
        let range = ByteRange { first: part.offset, last: part.offset + part.len - 1 };
        if range.last >= size {
            return Err(AppFailure::FileCut);
        }
        Ok(Self { file, range })
    }
}

/// Takes the file that a frame speaks of, and leaves of the payload what is before it. The outer error is a broken
/// rule.
pub(super) fn take(
    receiver: &LaneReceiver,
    head: &FrameHead,
    payload: &mut Vec<u8>,
) -> Result<Result<SentFile, AppFailure>, String> {
    if !matches!(head.kind, FrameKind::Response | FrameKind::Data) {
        return Err(format!("a frame of the kind {:?} speaks of a file", head.kind));
    }
    let (n_before, part) = message::split_file(payload).map_err(|error| error.to_string())?;
    payload.truncate(n_before);
    let arrived = receiver.take_file(part.number).map_err(|error| error.to_string())?;
    Ok(SentFile::new(arrived, part))
}

#[cfg(test)]
impl SentFile {
    /// A part of a file of this size, or of one that did not come.
    pub(super) fn of(size: Option<u64>, offset: u64, len: u64) -> Result<Self, AppFailure> {
        let file = || std::os::fd::OwnedFd::from(File::open("/dev/null").unwrap());
        let arrived = size.map(|size| Arrived { file: file().into(), size });
        Self::new(arrived, FilePart { number: 0, offset, len })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_ends_within_its_file() {
        for (offset, len, is_good) in [(0, 10, true), (9, 1, true), (0, 11, false), (10, 1, false)] {
            let taken = SentFile::of(Some(10), offset, len);
            assert_eq!(taken.is_ok(), is_good, "{offset} {len}");
        }
        assert!(matches!(SentFile::of(None, 0, 1), Err(AppFailure::NoDescriptor)));
    }
}
