//! The file that tells service managers which process is the main one.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use anyhow::Context;

/// The written file; removed when dropped.
#[derive(Debug)]
pub(crate) struct PidFile {
    path: PathBuf,
}

impl PidFile {
    /// Writes this process's id and a newline; creates the folder.
    pub(crate) fn write(path: PathBuf) -> anyhow::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let made =
            folder.map_or(Ok(()), |folder| DirBuilder::new().recursive(true).mode(0o755).create(folder));
        made.and_then(|()| fs::write(&path, format!("{}\n", std::process::id())))
            .with_context(|| format!("write the pid file \"{}\"", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
