//! Files in their compressed forms: made once for the whole process, by threads that serve no connections.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, LazyLock};

use corral_http::range::ByteRange;
use parking_lot::Mutex;
use tokio::sync::{OnceCell, Semaphore};

use super::ChosenCompressor;
use super::codec::{self, Effort, Encoder};
use crate::counters::inner;
use crate::files::{FileIdentity, OpenFile};

/// Largest file that is compressed as a whole, so that its length can be told.
const MAX_WHOLE: u64 = 16 * 1024 * 1024;

/// The same for levels that take seconds for each megabyte.
const MAX_WHOLE_THOROUGH: u64 = 1024 * 1024;

/// Compressed bytes that are kept for all files together.
const MAX_KEPT: usize = 64 * 1024 * 1024;

/// Bytes read at a time.
const STEP: usize = 128 * 1024;

/// One form of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CompressedKey {
    identity: FileIdentity,
    chosen: (u8, Option<i32>),
}

/// A body that is being made, or is there.
type CompressedEntry = Arc<OnceCell<Arc<[u8]>>>;

#[derive(Default)]
struct CompressedFile {
    entries: HashMap<CompressedKey, CompressedEntry>,
    /// The forms that are complete, oldest first, with their sizes.
    order: VecDeque<(CompressedKey, usize)>,
    n_bytes: usize,
}

static KEPT: LazyLock<Mutex<CompressedFile>> = LazyLock::new(Mutex::default);

/// Files are compressed by so many threads at a time: event loops get the other processors.
static WORKERS: LazyLock<Semaphore> = LazyLock::new(|| {
    let n_processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Semaphore::new(n_processors.div_ceil(2))
});

/// Bytes of the compressed files that are kept.
pub(crate) fn n_bytes() -> u64 {
    KEPT.lock().n_bytes as u64
}

/// Whether this file is compressed as a whole and kept, rather than streamed.
pub(crate) fn is_kept(file: &OpenFile, chosen: ChosenCompressor) -> bool {
    let limit = if codec::is_cheap(chosen.coding, chosen.level) { MAX_WHOLE } else { MAX_WHOLE_THOROUGH };
    file.size <= limit
}

/// The file's compressed form; made by the first request that asks, while others wait for it.
///
/// # Errors
///
/// When the file cannot be read, or is not what it was when it was opened.
pub(crate) async fn body(file: &OpenFile, chosen: ChosenCompressor) -> io::Result<Arc<[u8]>> {
    if let Some(body) = file.compressed(chosen.coding, chosen.level) {
        inner::note(|counters| counters.compressed_hits.add(1));
        return Ok(body);
    }
    if !file.identity.is_settled() {
        inner::note(|counters| counters.compressed_misses.add(1));
        return make(file, chosen).await;
    }
    let key = CompressedKey { identity: file.identity, chosen: (chosen.coding as u8, chosen.level) };
    let entry = Arc::clone(KEPT.lock().entries.entry(key).or_default());
    let is_made = entry.initialized();
    inner::note(|counters| match is_made {
        true => counters.compressed_hits.add(1),
        false => counters.compressed_misses.add(1),
    });
    let made = entry.get_or_try_init(|| make(file, chosen)).await.cloned();
    match &made {
        Ok(body) => {
            file.keep_compressed(chosen.coding, chosen.level, body);
            KEPT.lock().note(key, body.len());
        }
        Err(_) => KEPT.lock().forget(&key, &entry),
    }
    made
}

async fn make(file: &OpenFile, chosen: ChosenCompressor) -> io::Result<Arc<[u8]>> {
    let _permit = WORKERS.acquire().await.map_err(io::Error::other)?;
    let (source, identity, size) = (file.file.try_clone()?, file.identity, file.size);
    let work = move || compress(&source, identity, size, chosen);
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

fn compress(
    source: &File,
    identity: FileIdentity,
    size: u64,
    chosen: ChosenCompressor,
) -> io::Result<Arc<[u8]>> {
    let mut encoder = Encoder::new(chosen.coding, chosen.level, Effort::Kept { size })?;
    let mut piece = vec![0; STEP.min(size as usize)];
    let mut offset = 0;
    while offset < size {
        let len = piece.len().min((size - offset) as usize);
        source.read_exact_at(&mut piece[..len], offset)?;
        encoder.write(&piece[..len])?;
        offset += len as u64;
    }
    if !FileIdentity::of(&source.metadata()?).has_content_of(&identity) {
        return Err(io::Error::other("it has changed meanwhile"));
    }
    Ok(encoder.finish()?.into())
}

impl CompressedFile {
    /// A body is complete: it counts from now on, and the oldest make room for it.
    fn note(&mut self, key: CompressedKey, size: usize) {
        if !self.entries.contains_key(&key) || self.order.iter().any(|(known, _)| *known == key) {
            return;
        }
        self.order.push_back((key, size));
        self.n_bytes += size;
        while self.n_bytes > MAX_KEPT
            && let Some((oldest, size)) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
            self.n_bytes -= size;
        }
    }

    /// A body could not be made; the next one to ask tries again.
    fn forget(&mut self, key: &CompressedKey, entry: &CompressedEntry) {
        if self.entries.get(key).is_some_and(|known| Arc::ptr_eq(known, entry) && !known.initialized()) {
            self.entries.remove(key);
        }
    }
}

/// A large file on its way through an encoder, a piece at a time.
pub(crate) struct FileEncoder {
    /// `None` once the file has ended.
    encoder: Option<Encoder>,
    source: Arc<File>,
    offset: u64,
    size: u64,
}

impl FileEncoder {
    pub(crate) fn new(file: &OpenFile, chosen: ChosenCompressor) -> io::Result<Self> {
        let encoder = Some(Encoder::new(chosen.coding, chosen.level, Effort::Streamed)?);
        Ok(Self { encoder, source: Arc::new(file.file.try_clone()?), offset: 0, size: file.size })
    }

    /// The next compressed bytes; `None` after the last ones.
    ///
    /// # Errors
    ///
    /// When the file cannot be read to its end; nothing follows then.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(encoder) = self.encoder.take() else { return Ok(None) };
        let (source, offset) = (Arc::clone(&self.source), self.offset);
        let len = (self.size - offset).min(STEP as u64);
        let is_last = offset + len == self.size;
        let work = move || encode_piece(encoder, &source, offset, len, is_last);
        let (encoder, bytes) = beside_the_loop(work).await?;
        self.encoder = encoder;
        self.offset += len;
        Ok(Some(bytes))
    }
}

/// A part of a file on its way through the encoder of a reply, a piece at a time.
pub(crate) struct PartEncoder {
    source: Arc<File>,
    offset: u64,
    end: u64,
}

impl PartEncoder {
    /// `len` bytes from `offset` on.
    pub(crate) fn new(file: &File, offset: u64, len: u64) -> io::Result<Self> {
        Ok(Self { source: Arc::new(file.try_clone()?), offset, end: offset + len })
    }

    /// Whether all of it went through.
    pub(crate) fn is_done(&self) -> bool {
        self.offset == self.end
    }

    /// Gives the encoder back, and what it has made by now.
    ///
    /// # Errors
    ///
    /// As for [`FileEncoder::next`].
    pub(crate) async fn next(&mut self, mut encoder: Encoder) -> io::Result<(Encoder, Vec<u8>)> {
        let (source, offset) = (Arc::clone(&self.source), self.offset);
        let len = (self.end - offset).min(STEP as u64);
        self.offset += len;
        beside_the_loop(move || {
            write_piece(&mut encoder, &source, offset, len)?;
            let bytes = std::mem::take(encoder.output());
            Ok((encoder, bytes))
        })
        .await
    }
}

/// A part of a file, a piece at a time.
pub(crate) struct FileParts {
    source: Arc<File>,
    offset: u64,
    end: u64,
}

impl FileParts {
    pub(crate) fn new(file: &File, range: ByteRange) -> io::Result<Self> {
        Ok(Self { source: Arc::new(file.try_clone()?), offset: range.first, end: range.first + range.len() })
    }

    /// The next bytes; `None` after the last ones.
    ///
    /// # Errors
    ///
    /// When the file cannot be read to its end.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let (source, offset) = (Arc::clone(&self.source), self.offset);
        let len = (self.end - offset).min(STEP as u64);
        if len == 0 {
            return Ok(None);
        }
        self.offset += len;
        let read = move || read_piece(&source, offset, len);
        tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?.map(Some)
    }
}

/// No event loop compresses a file.
async fn beside_the_loop<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let _permit = WORKERS.acquire().await.map_err(io::Error::other)?;
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

fn write_piece(encoder: &mut Encoder, source: &File, offset: u64, len: u64) -> io::Result<()> {
    encoder.write(&read_piece(source, offset, len)?)
}

fn read_piece(source: &File, offset: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; len as usize];
    source.read_exact_at(&mut piece, offset)?;
    Ok(piece)
}

fn encode_piece(
    mut encoder: Encoder,
    source: &File,
    offset: u64,
    len: u64,
    is_last: bool,
) -> io::Result<(Option<Encoder>, Vec<u8>)> {
    write_piece(&mut encoder, source, offset, len)?;
    if is_last {
        return Ok((None, encoder.finish()?));
    }
    let bytes = std::mem::take(encoder.output());
    Ok((Some(encoder), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(inode: u64) -> CompressedKey {
        CompressedKey { identity: FileIdentity { inode, ..FileIdentity::default() }, chosen: (0, None) }
    }

    #[test]
    fn the_oldest_make_room() {
        let mut kept = CompressedFile::default();
        for inode in 0..3 {
            kept.entries.entry(key(inode)).or_default();
            kept.note(key(inode), MAX_KEPT / 2);
            kept.note(key(inode), MAX_KEPT / 2);
        }
        assert!(!kept.entries.contains_key(&key(0)), "it was the oldest");
        assert!(kept.entries.contains_key(&key(1)) && kept.entries.contains_key(&key(2)));
        assert_eq!(kept.n_bytes, MAX_KEPT);
        kept.entries.entry(key(3)).or_default();
        kept.note(key(3), 2 * MAX_KEPT);
        assert!(kept.entries.is_empty(), "what is larger than everything is not kept");
        assert_eq!((kept.n_bytes, kept.order.len()), (0, 0));
    }

    #[test]
    fn what_failed_can_be_tried_again() {
        let mut kept = CompressedFile::default();
        let entry = Arc::clone(kept.entries.entry(key(1)).or_default());
        kept.forget(&key(1), &entry);
        assert!(kept.entries.is_empty());
        let newer = Arc::clone(kept.entries.entry(key(1)).or_default());
        kept.forget(&key(1), &entry);
        assert!(Arc::ptr_eq(&newer, &kept.entries[&key(1)]), "another attempt stays");
    }
}
