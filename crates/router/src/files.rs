//! Open files, kept by each event loop, and never trusted for longer than a second.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use corral_http::conditional::EntityTag;
use corral_http::encoding::Coding;
use corral_http::response::{HttpDate, format_date};

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
    identity: Identity,
    checked: Cell<Instant>,
    content: OnceCell<Option<Box<[u8]>>>,
    /// The compressed siblings that are not older than the file, in the order of `Coding::COMPRESSED`.
    siblings: OnceCell<[Option<Rc<OpenFile>>; 3]>,
}

/// What a path leads to.
pub(crate) enum Found {
    File(Rc<OpenFile>),
    Directory,
    /// Neither; the status says why not.
    Nothing(u16),
    Failed(io::Error),
}

/// What changes when a file is replaced or written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

thread_local! {
    static OPEN: RefCell<HashMap<Vec<u8>, Rc<OpenFile>>> = RefCell::new(HashMap::new());
}

/// Opens a file, or finds it open.
pub(crate) fn open(path: &[u8], now: Instant) -> Found {
    let known = OPEN.with_borrow(|open| open.get(path).cloned());
    if let Some(file) = known {
        if now.saturating_duration_since(file.checked.get()) < TRUSTED {
            return Found::File(file);
        }
        if Identity::of_path(path).is_ok_and(|identity| identity == file.identity) {
            file.checked.set(now);
            return Found::File(file);
        }
        OPEN.with_borrow_mut(|open| open.remove(path));
    }
    let found = open_anew(path, now);
    if let Found::File(file) = &found {
        keep(path, file, now);
    }
    found
}

fn keep(path: &[u8], file: &Rc<OpenFile>, now: Instant) {
    OPEN.with_borrow_mut(|open| {
        if open.len() >= MAX_OPEN {
            open.retain(|_, file| now.saturating_duration_since(file.checked.get()) < TRUSTED);
        }
        if open.len() < MAX_OPEN {
            open.insert(path.to_vec(), Rc::clone(file));
        }
    });
}

fn open_anew(path: &[u8], now: Instant) -> Found {
    let opened = corral_sys::file::open_read(as_path(path)).and_then(|file| {
        let metadata = file.metadata()?;
        Ok((file, metadata))
    });
    match opened {
        Ok((file, metadata)) if metadata.is_file() => {
            Found::File(Rc::new(OpenFile::new(file, &metadata, now)))
        }
        Ok((_, metadata)) if metadata.is_dir() => Found::Directory,
        Ok(_) => Found::Nothing(404),
        Err(error) => refusal(error),
    }
}

/// UNIT-COMPAT 12, step 4.
fn refusal(error: io::Error) -> Found {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
            Found::Nothing(404)
        }
        // A NUL in the path, and what `open` says of a Unix socket or a FIFO without a reader.
        io::ErrorKind::InvalidInput => Found::Nothing(404),
        io::ErrorKind::PermissionDenied => Found::Nothing(403),
        _ if error.raw_os_error() == Some(ELOOP) => Found::Nothing(403),
        _ if error.raw_os_error() == Some(ENXIO) => Found::Nothing(404),
        _ => Found::Failed(error),
    }
}

const ENXIO: i32 = 6;
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
            siblings: OnceCell::new(),
        }
    }

    /// The whole of a small file; `None` when it is larger or has just been cut short.
    pub(crate) fn content(&self) -> Option<&[u8]> {
        self.content.get_or_init(|| self.read_content()).as_deref()
    }

    fn read_content(&self) -> Option<Box<[u8]>> {
        if self.size > MAX_IN_MEMORY {
            return None;
        }
        let mut content = vec![0; self.size as usize];
        self.file.read_exact_at(&mut content, 0).ok()?;
        Some(content.into_boxed_slice())
    }

    /// The sibling in that coding, `style.css.br` beside `style.css`.
    pub(crate) fn sibling(&self, path: &[u8], coding: Coding) -> Option<Rc<Self>> {
        let position = Coding::COMPRESSED.iter().position(|&known| known == coding)?;
        let find = |coding: Coding| self.find_sibling(path, coding);
        self.siblings.get_or_init(|| Coding::COMPRESSED.map(find))[position].clone()
    }

    fn find_sibling(&self, path: &[u8], coding: Coding) -> Option<Rc<Self>> {
        let sibling_path = [path, coding.suffix().as_bytes()].concat();
        match open_anew(&sibling_path, self.checked.get()) {
            Found::File(sibling) if sibling.modified >= self.modified => Some(sibling),
            _ => None,
        }
    }
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    fn of_path(path: &[u8]) -> io::Result<Self> {
        Ok(Self::of(&std::fs::metadata(as_path(path))?))
    }
}

fn as_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}
