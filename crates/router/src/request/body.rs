//! Request bodies: where they go, how far they have come, and why they have not.

pub(crate) mod rest;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use corral_channel::MAX_INLINE_BODY;
use corral_http::chunked::ChunkError;
use corral_ipc::message::Refusal;
use corral_sys::process::is_descriptor_shortage;

use self::rest::RequestBody;
use crate::storage::buffered::HeldMemory;
use crate::storage::buffers::Rest;
use crate::storage::temp;

/// Why a body did not arrive.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the body is larger than max_body_size")]
    TooLarge,
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    #[error("the body did not arrive in time")]
    TimedOut,
    #[error("the client went away within the body")]
    Gone,
    #[error("store the body")]
    Store(#[source] io::Error),
    #[error("there is no memory left for bodies (settings.limits.buffered_bytes), and no file")]
    Crowded(#[source] io::Error),
}

impl BodyError {
    /// The status of the reply.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::TooLarge => 413,
            Self::Chunk(error) => error.status(),
            Self::TimedOut => 408,
            Self::Gone => 400,
            Self::Store(error) if is_passing(error) => 503,
            Self::Store(error) if is_descriptor_shortage(error) => 503,
            Self::Store(_) => 500,
            Self::Crowded(_) => 503,
        }
    }
}

impl BodyError {
    /// The reason for which the request is refused.
    pub(crate) fn refusal(&self) -> Refusal {
        match self {
            Self::Store(_) | Self::Crowded(_) => Refusal::Storage,
            _ => Refusal::of_status(self.status()),
        }
    }
}

/// Whether the same may work when something has been freed, on the disk or elsewhere.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{OutOfMemory, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let kinds = [OutOfMemory, QuotaExceeded, ReadOnlyFilesystem, StorageFull];
    kinds.contains(&error.kind()) || corral_sys::file::are_descriptors_lacking(error)
}

/// A body that was read: its length, its first piece, and the rest.
pub(crate) struct StoredBody {
    pub(crate) len: u64,
    /// The piece that travels with the head.
    pub(crate) inline: Rest,
    pub(crate) rest: RequestBody,
    /// The memory that it takes.
    pub(crate) held: HeldMemory,
}

impl StoredBody {
    /// No body.
    pub(crate) fn none() -> Self {
        Self::inline(Rest::default())
    }

    /// A body that travels with the head.
    pub(crate) fn inline(inline: Rest) -> Self {
        let len = inline.len() as u64;
        Self { len, inline, rest: RequestBody::Complete, held: HeldMemory::default() }
    }
}

/// Where a body goes: memory first, a file when it grows.
#[derive(Default)]
pub(crate) struct BodyStore {
    memory: Rest,
    file: Option<(File, u64)>,
    held: HeldMemory,
}

impl BodyStore {
    /// With what came along with the head.
    pub(crate) fn new(begun: Rest) -> Self {
        Self { memory: begun, ..Self::default() }
    }

    /// Where it goes that has come next.
    pub(crate) fn memory(&mut self) -> &mut Vec<u8> {
        self.memory.to_mut()
    }

    /// Moves what is in memory to a file when it is more than `most`: to one in this folder, if not in the daemon's.
    pub(crate) fn spill(&mut self, most: usize, folder: Option<&Path>) -> Result<(), BodyError> {
        if self.file.is_none() {
            let is_small = self.memory.len() <= most;
            let more = self.memory.capacity() as u64 - self.held.bytes();
            if is_small && self.held.grow(more) {
                return Ok(());
            }
            let file = folder.map_or_else(temp::file, temp::file_in);
            let failed = if is_small { BodyError::Crowded } else { BodyError::Store };
            self.file = Some((file.map_err(failed)?, 0));
        }
        self.append().map_err(BodyError::Store)
    }

    fn append(&mut self) -> io::Result<()> {
        if let Some((file, len)) = &mut self.file {
            file.write_all_at(&self.memory, *len)?;
            *len += self.memory.len() as u64;
            temp::count(self.memory.len());
            self.memory.to_mut().clear();
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<StoredBody> {
        let held = self.held;
        let Some((file, len)) = self.file else {
            let len = self.memory.len() as u64;
            if self.memory.len() <= MAX_INLINE_BODY {
                return Ok(StoredBody { len, inline: self.memory, rest: RequestBody::Complete, held });
            }
            let bytes = self.memory.to_mut().split_off(MAX_INLINE_BODY);
            let rest = RequestBody::Memory { bytes, position: 0 };
            return Ok(StoredBody { len, inline: self.memory, rest, held });
        };
        let mut rest = RequestBody::File { file, position: 0, len };
        let complete = rest.read(self.memory.to_mut(), MAX_INLINE_BODY)?;
        let rest = if complete { RequestBody::Complete } else { rest };
        Ok(StoredBody { len, inline: self.memory, rest, held })
    }
}
