//! Files in memory: on a file system that the server sends from by itself, wherever the tests run.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// A file that every user may read; it is gone with the value.
#[derive(Debug)]
pub struct MemoryFile(NamedTempFile);

impl MemoryFile {
    /// With this content.
    #[must_use]
    pub fn of(content: impl AsRef<[u8]>) -> Self {
        let file = Self::sparse(0);
        fs::write(file.path(), content).expect("there is memory");
        file
    }

    /// So many zeros, which take no memory.
    #[must_use]
    pub fn sparse(len: u64) -> Self {
        let file = tempfile::Builder::new().prefix("corral-").tempfile_in("/dev/shm");
        let file = file.expect("/dev/shm is there, and is tmpfs");
        file.as_file().set_permissions(Permissions::from_mode(0o644)).expect("it is ours");
        let file = Self(file);
        file.set_len(len);
        file
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The same, for targets.
    #[must_use]
    pub fn text(&self) -> &str {
        self.path().to_str().expect("temporary paths are text")
    }

    /// Makes it so long.
    pub fn set_len(&self, len: u64) {
        self.0.as_file().set_len(len).expect("it is ours");
    }

    /// Takes its name away.
    pub fn remove(&self) {
        fs::remove_file(self.path()).expect("it has not been removed");
    }

    /// Whether a process has it open.
    #[must_use]
    pub fn is_open_in(&self, pid: u32) -> bool {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        let mut links = descriptors.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
        links.any(|link| link.to_string_lossy().starts_with(self.text()))
    }
}
