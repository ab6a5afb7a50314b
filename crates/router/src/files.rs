//! Open files, kept by each event loop as long as they are asked for. What is kept is compared with what the path leads
//! to before each use: one system call, and nothing that has changed is served.

mod confined_path;
mod identity;
mod open_file;
mod open_files;
mod siblings;

use std::fs::File;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use corral_config::route::FileKind;

pub(crate) use self::confined_path::ConfinedPath;
pub(crate) use self::identity::FileIdentity;
pub(crate) use self::open_file::OpenFile;
pub(crate) use self::open_files::{forget_all, keep_sweeping};
use crate::counters::inner;

/// The file, the folder or the error that a path leads to.
pub(crate) enum FoundFile {
    File(Rc<OpenFile>),
    Directory(File),
    /// Nothing that could be sent.
    Nothing,
    /// The way there is not permitted.
    Refused(io::Error),
    Failed(io::Error),
}

/// When a file is wanted, and how old what is known of it may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheTime {
    pub(crate) now: Instant,
    /// Zero unless the configuration says otherwise.
    pub(crate) trust: Duration,
}

impl CacheTime {
    fn trusts(&self, checked: Instant) -> bool {
        self.now.saturating_duration_since(checked) < self.trust
    }
}

/// Looks at what a path leads to now. Costs as much as the comparison of a file that is open.
pub(crate) fn look(place: &ConfinedPath<'_>) -> FileKind {
    match place.metadata() {
        Ok(found) if found.is_file() => FileKind::File,
        Ok(found) if found.is_dir() => FileKind::Folder,
        Ok(_) => FileKind::Other,
        Err(error) => {
            if let FoundFile::Refused(error) | FoundFile::Failed(error) = refusal(error) {
                let path = place.as_path().display();
                tracing::error!("look for \"{path}\": {error}");
            }
            FileKind::Absent
        }
    }
}

/// Opens a file, or finds it open.
pub(crate) fn open(place: &ConfinedPath<'_>, moment: CacheTime) -> FoundFile {
    let key = place.key();
    if let Some(file) = open_files::find(&key) {
        if file.is_current(place, moment) {
            file.note_use(moment.now);
            inner::note(|counters| counters.file_hits.add(1));
            return FoundFile::File(file);
        }
        open_files::forget(&key);
    }
    inner::note(|counters| counters.file_misses.add(1));
    let found = open_anew(place, moment.now);
    if let FoundFile::File(file) = &found {
        open_files::keep(&key, file, moment.now);
    }
    found
}

fn open_anew(place: &ConfinedPath<'_>, now: Instant) -> FoundFile {
    let opened = place.open().and_then(|file| {
        let metadata = file.metadata()?;
        Ok((file, metadata))
    });
    match opened {
        Ok((file, metadata)) if metadata.is_file() => {
            FoundFile::File(Rc::new(OpenFile::new(file, &metadata, now)))
        }
        Ok((file, metadata)) if metadata.is_dir() => FoundFile::Directory(file),
        Ok(_) => FoundFile::Nothing,
        Err(error) => refusal(error),
    }
}

/// contract 12, step 4.
fn refusal(error: io::Error) -> FoundFile {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
            FoundFile::Nothing
        }
        // A NUL in the path, and what `open` says of a Unix socket or a FIFO without a reader.
        io::ErrorKind::InvalidInput => FoundFile::Nothing,
        io::ErrorKind::PermissionDenied => FoundFile::Refused(error),
        // A link or a mount that must not be followed.
        _ if matches!(error.raw_os_error(), Some(ELOOP | EXDEV)) => FoundFile::Refused(error),
        _ if error.raw_os_error() == Some(ENXIO) => FoundFile::Nothing,
        _ => FoundFile::Failed(error),
    }
}

const ENXIO: i32 = 6;
const EXDEV: i32 = 18;
const ELOOP: i32 = 40;
