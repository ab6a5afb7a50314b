//! Folders are looked at before a configuration is put in force.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether there is a folder that this process can see.
#[must_use]
pub fn is_folder(path: &[u8]) -> bool {
    Path::new(OsStr::from_bytes(path)).is_dir()
}
