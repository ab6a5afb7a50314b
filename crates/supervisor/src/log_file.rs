//! The log's file: standard error of this process leads to it, and the lines of all children.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::Context;
use corral_sys::process::{self, Standard};

/// Where the log goes besides standard error as it was at the start.
#[derive(Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    /// Standard error as it was, of a process that was started in the foreground.
    origin: Option<File>,
}

impl LogFile {
    /// Opens the file, so that a wrong path is reported where the daemon was started.
    pub(crate) fn open(path: PathBuf) -> anyhow::Result<(Self, Option<File>)> {
        let file = open(&path)?;
        Ok((Self { path, origin: None }, file))
    }

    /// The absolute path of the file, unless it stands for standard error.
    pub(crate) fn path(&self) -> Option<String> {
        let path = std::path::absolute(&self.path).ok().filter(|path| !is_standard_error(path))?;
        Some(path.to_string_lossy().into_owned())
    }

    /// Keeps standard error as it is before it is redirected.
    pub(crate) fn keep_origin(&mut self) {
        self.origin = io::stderr().as_fd().try_clone_to_owned().ok().map(File::from);
    }

    /// Says something where the daemon was started, where people look for it rather than in the log.
    pub(crate) fn tell(&self, text: &str) {
        // A user who has closed it does not want to hear it.
        let _ = self.origin.as_ref().map(|mut origin| writeln!(origin, "{text}"));
    }

    /// Opens the path again, after its file was moved away, and writes there from now on.
    pub(crate) fn reopen(&self) -> anyhow::Result<()> {
        open(&self.path)?.map_or(Ok(()), |file| redirect(&file))
    }
}

/// The log for reading, if it is a file: the very one that standard error leads to, whatever has its path by now.
pub(crate) fn open_for_reading() -> io::Result<Option<File>> {
    let stderr = File::from(io::stderr().as_fd().try_clone_to_owned()?);
    if !stderr.metadata()?.is_file() {
        return Ok(None);
    }
    File::open("/proc/self/fd/2").map(Some)
}

/// Makes standard error lead to the file.
pub(crate) fn redirect(file: &File) -> anyhow::Result<()> {
    process::replace_standard(Standard::Error, file).context("redirect standard error to the log")
}

/// `None` for a path that means standard error itself: in containers it is a link to it, and cannot
/// be opened when it is a socket.
fn open(path: &Path) -> anyhow::Result<Option<File>> {
    if is_standard_error(path) {
        return Ok(None);
    }
    let file = corral_sys::file::open_log(path, 0o600);
    file.map(Some).with_context(|| format!("open the log file \"{}\"", path.display()))
}

fn is_standard_error(path: &Path) -> bool {
    let target = std::fs::read_link(path);
    path == Path::new(STANDARD_ERROR) || target.is_ok_and(|target| target == Path::new(STANDARD_ERROR))
}

const STANDARD_ERROR: &str = "/dev/stderr";
