//! A folder for sockets, which nobody but the application's user can enter. The router need not: it gets the sockets'
//! files as descriptors.

use std::env;
use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A folder that is removed with this value, as far as that is allowed.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

/// The path of a socket, whose file is removed with this value.
#[derive(Debug)]
pub(crate) struct SocketPath(PathBuf);

/// With more in front of it, the path of a socket would be too long.
const LONGEST_PARENT: usize = 60;

impl Folder {
    /// Makes one where the application may.
    pub(crate) fn make() -> anyhow::Result<Self> {
        let named = env::var_os("TMPDIR").map(PathBuf::from).filter(|path| path.is_absolute());
        let usual = ["/tmp", "/var/tmp", "/dev/shm", "/run"].map(PathBuf::from);
        let parents = named.into_iter().chain(usual).filter(|path| path.as_os_str().len() <= LONGEST_PARENT);
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for parent in parents {
            match Self::make_in(&parent) {
                Ok(folder) => return Ok(folder),
                Err(error) => last = error,
            }
        }
        Err(last).context("make a folder for sockets in $TMPDIR, /tmp, /var/tmp, /dev/shm or /run")
    }

    fn make_in(parent: &Path) -> io::Result<Self> {
        let path = parent.join(format!("corral-{:016x}", RandomState::new().hash_one(std::process::id())));
        // Fails if there is something of that name.
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A place in it, where nothing is.
    pub(crate) fn socket(&self, name: &str) -> SocketPath {
        let path = self.0.join(name);
        // Left by a program that was started before under this number.
        let _ = fs::remove_file(&path);
        SocketPath(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Programs may have left something there.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl SocketPath {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        // The program may have done so itself.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_private_and_leaves_nothing_behind() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::make_in(parent.path()).unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
        let socket = folder.socket("1.http");
        fs::write(socket.path(), "").unwrap();
        drop(socket);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(folder.path().join("other"), "").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
