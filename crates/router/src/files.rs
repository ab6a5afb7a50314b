//! Open files, kept by each event loop, and never trusted for longer than a second.

mod place;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use corral_http::conditional::EntityTag;
use corral_http::encoding::Coding;
use corral_http::response::{HttpDate, format_date};
use smallvec::SmallVec;

pub(crate) use self::place::Place;
use crate::compression::cache::Body;

/// How long a file is served without a look at the file system.
const TRUSTED: Duration = Duration::from_secs(1);

/// Files that one event loop keeps open.
const MAX_OPEN: usize = 512;

/// A file up to this size is kept in memory: its reply is one system call instead of two.
pub(crate) const MAX_IN_MEMORY: u64 = 32 * 1024;

/// A regular file as it was when last looked at.
pub(crate) struct OpenFile {
    pub(crate) file: File,
    pub(crate) size: u64,
    /// Seconds since 1970.
    pub(crate) modified: i64,
    pub(crate) etag: EntityTag,
    pub(crate) last_modified: HttpDate,
    pub(crate) identity: Identity,
    checked: Cell<Instant>,
    content: OnceCell<Option<Box<[u8]>>>,
    /// The compressed siblings that are not older than the file, in the order of `Coding::COMPRESSED`, and when they
    /// were looked for.
    siblings: RefCell<Option<(Instant, Siblings)>>,
    /// What others keep of its compressed forms, with their levels.
    compressed: RefCell<SmallVec<[Compressed; 1]>>,
}

type Siblings = [Option<Rc<OpenFile>>; 3];

/// A coding, the level that is configured for it, and what the file is in it.
type Compressed = (Coding, Option<i32>, Weak<[u8]>);

/// What a path leads to.
pub(crate) enum Found {
    File(Rc<OpenFile>),
    Directory(File),
    /// Nothing that could be sent.
    Nothing,
    /// The way there is not permitted.
    Refused(io::Error),
    Failed(io::Error),
}

/// What changes when a file is replaced or written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) modified: (i64, i64),
    pub(crate) changed: (i64, i64),
}

thread_local! {
    static OPEN: RefCell<HashMap<Vec<u8>, Rc<OpenFile>>> = RefCell::new(HashMap::new());
}

/// Opens a file, or finds it open.
pub(crate) fn open(place: &Place<'_>, now: Instant) -> Found {
    let key = place.key();
    let known = OPEN.with_borrow(|open| open.get(&*key).cloned());
    if let Some(file) = known {
        if now.saturating_duration_since(file.checked.get()) < TRUSTED {
            return Found::File(file);
        }
        if file.is_still_at(place) {
            file.checked.set(now);
            return Found::File(file);
        }
        OPEN.with_borrow_mut(|open| open.remove(&*key));
    }
    let found = open_anew(place, now);
    if let Found::File(file) = &found {
        keep(&key, file, now);
    }
    found
}

fn keep(key: &[u8], file: &Rc<OpenFile>, now: Instant) {
    OPEN.with_borrow_mut(|open| {
        if open.len() >= MAX_OPEN {
            open.retain(|_, file| now.saturating_duration_since(file.checked.get()) < TRUSTED);
        }
        if open.len() < MAX_OPEN {
            open.insert(key.to_vec(), Rc::clone(file));
        }
    });
}

fn open_anew(place: &Place<'_>, now: Instant) -> Found {
    let opened = place.open().and_then(|file| {
        let metadata = file.metadata()?;
        Ok((file, metadata))
    });
    match opened {
        Ok((file, metadata)) if metadata.is_file() => {
            Found::File(Rc::new(OpenFile::new(file, &metadata, now)))
        }
        Ok((file, metadata)) if metadata.is_dir() => Found::Directory(file),
        Ok(_) => Found::Nothing,
        Err(error) => refusal(error),
    }
}

/// UNIT-COMPAT 12, step 4.
fn refusal(error: io::Error) -> Found {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
            Found::Nothing
        }
        // A NUL in the path, and what `open` says of a Unix socket or a FIFO without a reader.
        io::ErrorKind::InvalidInput => Found::Nothing,
        io::ErrorKind::PermissionDenied => Found::Refused(error),
        // A link or a mount that must not be followed.
        _ if matches!(error.raw_os_error(), Some(ELOOP | EXDEV)) => Found::Refused(error),
        _ if error.raw_os_error() == Some(ENXIO) => Found::Nothing,
        _ => Found::Failed(error),
    }
}

const ENXIO: i32 = 6;
const EXDEV: i32 = 18;
const ELOOP: i32 = 40;

impl OpenFile {
    fn new(file: File, metadata: &Metadata, now: Instant) -> Self {
        let modified = metadata.mtime();
        Self {
            file,
            size: metadata.len(),
            modified,
            etag: EntityTag::of_file(modified, metadata.len()),
            last_modified: format_date(modified.max(0).unsigned_abs()),
            identity: Identity::of(metadata),
            checked: Cell::new(now),
            content: OnceCell::new(),
            siblings: RefCell::new(None),
            compressed: RefCell::default(),
        }
    }

    /// Whether the same, unchanged file is what the place leads to.
    fn is_still_at(&self, place: &Place<'_>) -> bool {
        place.metadata().is_ok_and(|metadata| Identity::of(&metadata) == self.identity)
    }

    /// The whole of a small file; `None` when it is larger or has just been changed.
    pub(crate) fn content(&self) -> Option<&[u8]> {
        self.content.get_or_init(|| self.read_content()).as_deref()
    }

    fn read_content(&self) -> Option<Box<[u8]>> {
        if self.size > MAX_IN_MEMORY {
            return None;
        }
        let mut content = vec![0; self.size as usize];
        self.file.read_exact_at(&mut content, 0).ok()?;
        let metadata = self.file.metadata().ok()?;
        Identity::of(&metadata).has_content_of(&self.identity).then(|| content.into_boxed_slice())
    }

    /// The siblings that are there, `style.css.br` beside `style.css`, best first.
    pub(crate) fn siblings(&self, place: &Place<'_>, now: Instant) -> SmallVec<[(Coding, Rc<Self>); 3]> {
        let mut siblings = self.siblings.borrow_mut();
        let (checked, known) =
            siblings.get_or_insert_with(|| (now, self.find_siblings(place, now, &[None, None, None])));
        if now.saturating_duration_since(*checked) >= TRUSTED {
            *known = self.find_siblings(place, now, known);
            *checked = now;
        }
        let found = Coding::COMPRESSED.into_iter().zip(known.iter());
        found.filter_map(|(coding, sibling)| Some((coding, sibling.clone()?))).collect()
    }

    fn find_siblings(&self, place: &Place<'_>, now: Instant, known: &Siblings) -> Siblings {
        let mut at = 0;
        Coding::COMPRESSED.map(|coding| {
            let path = [place.path, coding.suffix().as_bytes()].concat();
            let known = known[at].as_ref();
            at += 1;
            self.find_sibling(&place.at(&path), now, known)
        })
    }

    fn find_sibling(&self, place: &Place<'_>, now: Instant, known: Option<&Rc<Self>>) -> Option<Rc<Self>> {
        let sibling = match open_anew(place, now) {
            Found::File(sibling) if sibling.modified >= self.modified => sibling,
            _ => return None,
        };
        // What is known of it already, such as its content, stays.
        Some(known.filter(|known| known.identity == sibling.identity).map_or(sibling, Rc::clone))
    }

    /// Its compressed form, if somebody still keeps it.
    pub(crate) fn compressed(&self, coding: Coding, level: Option<i32>) -> Option<Body> {
        let compressed = self.compressed.borrow();
        let (_, _, body) = compressed.iter().find(|known| (known.0, known.1) == (coding, level))?;
        body.upgrade()
    }

    /// Remembers a compressed form as long as others keep it.
    pub(crate) fn keep_compressed(&self, coding: Coding, level: Option<i32>, body: &Body) {
        let mut compressed = self.compressed.borrow_mut();
        compressed.retain(|known| known.2.strong_count() > 0 && (known.0, known.1) != (coding, level));
        compressed.push((coding, level, Arc::downgrade(body)));
    }
}

impl Identity {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether nobody has written to the file in between; it may have been renamed or removed.
    pub(crate) fn has_content_of(&self, earlier: &Self) -> bool {
        (self.size, self.modified) == (earlier.size, earlier.modified)
    }
}
