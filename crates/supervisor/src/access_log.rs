//! The access log's file: opened here, where the daemon's rights are, written by the router.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// An open access log.
#[derive(Debug)]
pub(crate) struct AccessLogFile {
    path: PathBuf,
    file: File,
}

/// Why it cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error(
    "open the access log \"{}\" ({source}); its folder must exist and the daemon's user must be \
     allowed to write to it",
    path.display()
)]
pub(crate) struct AccessLogError {
    path: PathBuf,
    source: io::Error,
}

impl AccessLogFile {
    /// Opens or creates the file.
    pub(crate) fn open(path: &Path) -> Result<Self, AccessLogError> {
        match corral_sys::file::open_log(path, 0o600) {
            Ok(file) => Ok(Self { path: path.to_owned(), file }),
            Err(source) => Err(AccessLogError { path: path.to_owned(), source }),
        }
    }

    /// A log that keeps nothing, for a start that does without the file.
    pub(crate) fn nowhere(path: &Path) -> Result<Self, AccessLogError> {
        let null = File::options().append(true).open("/dev/null");
        match null {
            Ok(file) => Ok(Self { path: path.to_owned(), file }),
            Err(source) => Err(AccessLogError { path: path.to_owned(), source }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for AccessLogFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
