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
        made.and_then(|()| fs::write(&path, content()))
            .with_context(|| format!("write the pid file \"{}\"", path.display()))?;
        Ok(Self { path })
    }
}

fn content() -> String {
    format!("{}\n", std::process::id())
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // It is somebody else's by now if two daemons were told the same path.
        if fs::read_to_string(&self.path).is_ok_and(|text| text == content()) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
