//! Unlinked temporary files for what does not fit in memory.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::counters::inner;

static FOLDER: OnceLock<PathBuf> = OnceLock::new();

/// Names the folder once, at start.
pub(crate) fn set_folder(folder: PathBuf) {
    // Only the first call counts; the router starts once in a process.
    let _ = FOLDER.set(folder);
}

/// A new file without a name in the folder for temporary files.
pub(crate) fn file() -> io::Result<File> {
    file_in(FOLDER.get().map_or_else(|| Path::new("/tmp"), PathBuf::as_path))
}

/// Counts what was written of bodies.
pub(crate) fn count(n_bytes: usize) {
    inner::note(|counters| counters.body_bytes_written.add(n_bytes as u64));
}

/// A new file without a name in this folder.
pub(crate) fn file_in(folder: &Path) -> io::Result<File> {
    corral_sys::file::temp_file(folder)
}
