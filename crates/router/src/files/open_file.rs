//! A regular file that is open, with what was made of it.

use std::cell::{Cell, OnceCell, RefCell};
use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Instant;

use corral_http::conditional::EntityTag;
use corral_http::encoding::ContentCoding;
use corral_http::response::{HttpDate, format_date};
use smallvec::SmallVec;

use super::siblings::Siblings;
use super::{CacheTime, ConfinedPath, FileIdentity};
use crate::counters::inner;

/// A file up to this size is kept in memory: its reply is one system call instead of two.
pub(crate) const MAX_IN_MEMORY: u64 = 32 * 1024;

/// A regular file as it was when it was opened.
pub(crate) struct OpenFile {
    pub(crate) file: File,
    pub(crate) size: u64,
    /// Seconds since 1970.
    pub(super) modified: i64,
    pub(crate) etag: EntityTag,
    last_modified: HttpDate,
    pub(crate) identity: FileIdentity,
    checked: Cell<Instant>,
    /// The file was not being written to when it was checked.
    settled: Cell<bool>,
    used: Cell<Instant>,
    content: OnceCell<Option<Box<[u8]>>>,
    /// `None` before they were asked for.
    siblings: RefCell<Option<Siblings>>,
    /// The compressed forms that other parts keep, with their levels.
    compressed: RefCell<SmallVec<[Compressed; 1]>>,
}

/// A coding, the level that is configured for it, and what the file is in it.
type Compressed = (ContentCoding, Option<i32>, Weak<[u8]>);

impl OpenFile {
    pub(super) fn new(file: File, metadata: &Metadata, now: Instant) -> Self {
        let modified = metadata.mtime();
        let identity = FileIdentity::of(metadata);
        Self {
            file,
            size: metadata.len(),
            modified,
            etag: EntityTag::of_file(identity.modified, metadata.len()),
            last_modified: format_date(modified.max(0).unsigned_abs()),
            identity,
            checked: Cell::new(now),
            settled: Cell::new(identity.is_settled()),
            used: Cell::new(now),
            content: OnceCell::new(),
            siblings: RefCell::new(None),
            compressed: RefCell::default(),
        }
    }

    /// Whether the same, unchanged file is what the place leads to.
    pub(super) fn is_current(&self, place: &ConfinedPath<'_>, moment: CacheTime) -> bool {
        if self.is_trusted(moment) {
            return true;
        }
        let is_current = place.metadata().is_ok_and(|metadata| FileIdentity::of(&metadata) == self.identity);
        if is_current {
            self.checked.set(moment.now);
            self.settled.set(self.is_settled());
        }
        is_current
    }

    /// When it was modified, but not later than now (RFC 9110 section 8.8.2.1): seconds since 1970, and as a date.
    pub(crate) fn modified(&self, now: u64) -> (Option<u64>, HttpDate) {
        let Ok(modified) = u64::try_from(self.modified) else { return (None, self.last_modified) };
        if modified <= now { (Some(modified), self.last_modified) } else { (Some(now), format_date(now)) }
    }

    /// Whether its tag stands for this content and no other: a change in the same tick of the clock does not show.
    pub(crate) fn has_settled(&self) -> bool {
        self.settled.get()
    }

    /// Whether it needs no look. A file that is being written is never trusted: its head would be of one state and its
    /// body of another.
    pub(super) fn is_trusted(&self, moment: CacheTime) -> bool {
        moment.trusts(self.checked.get()) && self.settled.get()
    }

    fn is_settled(&self) -> bool {
        self.settled.get() || self.identity.is_settled()
    }

    pub(super) fn note_use(&self, now: Instant) {
        self.used.set(now);
    }

    pub(super) fn last_use(&self) -> Instant {
        self.used.get()
    }

    /// The whole of a small file; `None` when it is larger or has just been changed.
    pub(crate) fn content(&self) -> Option<&[u8]> {
        if self.content.get().is_none() && (self.size > MAX_IN_MEMORY || !self.is_settled()) {
            return None;
        }
        self.content.get_or_init(|| self.read_content()).as_deref()
    }

    fn read_content(&self) -> Option<Box<[u8]>> {
        let mut content = vec![0; self.size as usize];
        self.file.read_exact_at(&mut content, 0).ok()?;
        let metadata = self.file.metadata().ok()?;
        let is_same = FileIdentity::of(&metadata).has_content_of(&self.identity);
        is_same.then(|| {
            inner::note(|counters| counters.file_bytes.add(self.size));
            content.into_boxed_slice()
        })
    }

    /// The siblings that are there, `style.css.br` beside `style.css`, best first. For a client that takes none of them
    /// it is enough to know whether there were any when one was asked for that does: what they decide is a Vary.
    pub(crate) fn siblings(
        &self,
        place: &ConfinedPath<'_>,
        moment: CacheTime,
        are_wanted: bool,
    ) -> SmallVec<[(ContentCoding, Rc<Self>); 3]> {
        let mut siblings = self.siblings.borrow_mut();
        match &mut *siblings {
            Some(known) if !are_wanted || known.are_current(place, moment) => {}
            known => *known = Some(Siblings::find(place, moment, known.as_ref())),
        }
        siblings.as_ref().map(|known| known.not_older_than(self)).unwrap_or_default()
    }

    /// The file's compressed form, if it is still kept.
    pub(crate) fn compressed(&self, coding: ContentCoding, level: Option<i32>) -> Option<Arc<[u8]>> {
        let compressed = self.compressed.borrow();
        let (_, _, body) = compressed.iter().find(|known| (known.0, known.1) == (coding, level))?;
        body.upgrade()
    }

    /// Remembers a compressed form as long as others keep it.
    pub(crate) fn keep_compressed(&self, coding: ContentCoding, level: Option<i32>, body: &Arc<[u8]>) {
        let mut compressed = self.compressed.borrow_mut();
        compressed.retain(|known| known.2.strong_count() > 0 && (known.0, known.1) != (coding, level));
        compressed.push((coding, level, Arc::downgrade(body)));
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if let Some(Some(content)) = self.content.get() {
            inner::note(|counters| counters.file_bytes.subtract(content.len() as u64));
        }
    }
}
