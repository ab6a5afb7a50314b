//! A folder for sockets that only the application's user can enter. The router need not: it gets the sockets' files as
//! descriptors.

use std::env;
use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context;
use rustix::fs::{Mode, OFlags};

/// Where sockets are.
#[derive(Debug)]
pub(crate) enum ProgramFolder {
    /// Removed with this value, as far as that is allowed.
    Own(PathBuf),
    /// Main's, outside of this root.
    Outside(Rc<Outside>),
}

/// A folder that no path leads to.
#[derive(Debug)]
pub(crate) struct Outside {
    folder: OwnedFd,
    /// Where programs run.
    here: OwnedFd,
}

/// The path of a socket, whose file is removed with this value.
#[derive(Debug)]
pub(crate) struct SocketPath {
    /// Only a name where it is outside.
    path: PathBuf,
    outside: Option<Rc<Outside>>,
}

/// With more in front of it, the path of a socket would be too long.
const LONGEST_PARENT: usize = 60;

impl ProgramFolder {
    /// The one that main has handed over.
    pub(crate) fn outside(folder: OwnedFd) -> anyhow::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let here = rustix::fs::open(".", flags, Mode::empty()).context("open the working directory")?;
        Ok(Self::Outside(Rc::new(Outside { folder, here })))
    }

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
        Ok(Self::Own(path))
    }

    /// As the application's files know it, if they do.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Own(path) => Some(path),
            Self::Outside(_) => None,
        }
    }

    /// A place in it, where nothing is.
    pub(crate) fn socket(&self, name: &str) -> SocketPath {
        let socket = match self {
            Self::Own(folder) => SocketPath { path: folder.join(name), outside: None },
            Self::Outside(outside) => SocketPath { path: name.into(), outside: Some(Rc::clone(outside)) },
        };
        // Left by a program that was started before under this number.
        let _ = socket.with(|path| fs::remove_file(path));
        socket
    }
}

impl Drop for ProgramFolder {
    fn drop(&mut self) {
        // Programs may have left something there.
        if let Self::Own(path) = self {
            let _ = fs::remove_dir_all(path);
        }
    }
}

impl Outside {
    /// Nothing but this process is there, and that for no longer than it takes: programs begin where it is.
    fn enter<T>(&self, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        rustix::process::fchdir(&self.folder)?;
        let done = act();
        if let Err(error) = rustix::process::fchdir(&self.here) {
            corral_worker::complain(format!("cannot go back to the working directory: {error}"));
            std::process::exit(1);
        }
        done
    }
}

impl SocketPath {
    /// Only where it is inside, for programs.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Does something by a path that leads to it just then.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        match &self.outside {
            Some(outside) => outside.enter(|| act(&self.path)),
            None => act(&self.path),
        }
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        // The program may have done so itself.
        let _ = self.with(|path| fs::remove_file(path));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_private_and_leaves_nothing_behind() {
        let parent = tempfile::tempdir().unwrap();
        let folder = ProgramFolder::make_in(parent.path()).unwrap();
        let path = folder.path().unwrap().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        let socket = folder.socket("1.http");
        fs::write(socket.path(), "").unwrap();
        drop(socket);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        fs::write(path.join("other"), "").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn outside_is_entered_for_a_moment_only() {
        let folder = tempfile::tempdir().unwrap();
        let here = env::current_dir().unwrap();
        let outside = ProgramFolder::outside(fs::File::open(folder.path()).unwrap().into()).unwrap();
        let socket = outside.socket("1.http");
        let found = socket.with(|path| {
            fs::write(path, "")?;
            env::current_dir()
        });
        assert_eq!(found.unwrap(), folder.path().canonicalize().unwrap());
        assert!(socket.with(|_| io::Result::<()>::Err(io::ErrorKind::NotFound.into())).is_err());
        assert_eq!(env::current_dir().unwrap(), here);
        assert!(folder.path().join("1.http").exists());
        drop(socket);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
