//! Where the sockets of programs in a root of their own are: outside of it, so that nothing has to be there for them.

use std::fs::{self, DirBuilder, File, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use corral_config::plan::{AppSpec, Ready, RuntimeSpec};

/// A folder that other users cannot reach by its path; a process that has its descriptor can write to it. Removed with
/// this value.
#[derive(Debug)]
pub(crate) struct SocketFolder {
    /// The folder around it, which keeps others out.
    outer: PathBuf,
}

/// The folder in it, whose permissions are for processes that have its descriptor.
const INNER: &str = "sockets";

impl SocketFolder {
    /// Makes one, if the application's programs listen on sockets that they get.
    pub(crate) fn of(spec: &AppSpec) -> Option<io::Result<(Self, OwnedFd)>> {
        let RuntimeSpec::Http(http) = &spec.runtime else { return None };
        let isolation = &spec.isolation;
        // A socket whose path is told has to be inside, and so has one that is listed among the files.
        let is_outside = isolation.rootfs.is_some()
            && isolation.filesystem.is_none()
            && http.has_listener()
            && http.ready != Ready::Notify;
        is_outside.then(|| Self::make(&std::env::temp_dir()))
    }

    fn make(parent: &Path) -> io::Result<(Self, OwnedFd)> {
        let name = format!("corral-{:016x}", RandomState::new().hash_one(std::process::id()));
        let outer = parent.join(name);
        // Fails if there is something of that name.
        DirBuilder::new().mode(0o700).create(&outer)?;
        let inner = outer.join(INNER);
        let folder = Self { outer };
        fs::create_dir(&inner)?;
        fs::set_permissions(&inner, Permissions::from_mode(0o777))?;
        Ok((folder, File::open(inner)?.into()))
    }
}

impl Drop for SocketFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.outer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_others_out_and_leaves_nothing_behind() {
        let parent = tempfile::tempdir().unwrap();
        let (folder, _descriptor) = SocketFolder::make(parent.path()).unwrap();
        assert_eq!(fs::metadata(&folder.outer).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(folder.outer.join(INNER).join("1.http"), "").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
