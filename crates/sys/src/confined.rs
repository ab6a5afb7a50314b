//! Opening files without leaving a folder, without following links, without crossing mounts: openat2(2).

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Bounds on the way to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Confinement {
    /// The folder is `/` for the path and for every link on it.
    pub in_root: bool,
    /// No component may be a symbolic link.
    pub no_symlinks: bool,
    /// No component may be on another mount than the folder.
    pub no_mounts: bool,
}

/// A folder that others are opened in: only its place, nothing of it can be read.
///
/// # Errors
/// When it cannot be reached, or is not a folder.
pub fn open_folder(path: impl AsRef<Path>) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, path.as_ref(), flags, Mode::empty())?)
}

/// Opens a file below `folder`, or below the working directory, for reading and without ever waiting.
///
/// # Errors
/// ELOOP for a symbolic link and EXDEV for a mount that were not permitted; ENOSYS before Linux 5.6.
pub fn open_read_confined(
    folder: Option<BorrowedFd<'_>>,
    path: impl AsRef<Path>,
    confinement: Confinement,
) -> io::Result<File> {
    open_confined(folder, path.as_ref(), OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, confinement)
}

/// The metadata of the file at a path, without opening it.
///
/// # Errors
/// As for [`open_read_confined`]; what may not be read can be looked at.
pub fn metadata_confined(
    folder: Option<BorrowedFd<'_>>,
    path: impl AsRef<Path>,
    confinement: Confinement,
) -> io::Result<Metadata> {
    open_confined(folder, path.as_ref(), OFlags::PATH, confinement)?.metadata()
}

fn open_confined(
    folder: Option<BorrowedFd<'_>>,
    path: &Path,
    flags: OFlags,
    confinement: Confinement,
) -> io::Result<File> {
    let (folder, flags) = (folder.unwrap_or(CWD), flags | OFlags::CLOEXEC);
    let mut attempts = 0;
    loop {
        match rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve_flags(confinement)) {
            Ok(fd) => return Ok(fd.into()),
            // Something was renamed meanwhile, so that the kernel could not tell whether `..` stayed inside.
            Err(Errno::AGAIN | Errno::INTR) if attempts < MAX_ATTEMPTS => attempts += 1,
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// The kind of entry that is mounted over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointKind {
    /// A folder.
    Folder,
    /// Anything else.
    File,
}

/// Makes an empty file or folder below `root`, and the folders above it, unless they are there. `root` is `/` for
/// every link on the way.
///
/// # Errors
/// When something of another kind is there, or nothing may be made.
pub fn make_mount_point(root: BorrowedFd<'_>, path: &Path, kind: PointKind) -> io::Result<()> {
    let mut folder = root.try_clone_to_owned()?;
    let mut so_far = std::path::PathBuf::new();
    let n_names = path.components().count();
    for (idx, name) in path.components().enumerate() {
        so_far.push(name);
        let is_file = kind == PointKind::File && idx + 1 == n_names;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let flags = if is_file { flags } else { flags | OFlags::DIRECTORY };
        let look = || rustix::fs::openat2(root, &so_far, flags, Mode::empty(), ResolveFlags::IN_ROOT);
        folder = match look() {
            Err(Errno::NOENT) => {
                make(folder.as_fd(), name.as_os_str(), is_file)?;
                look()?
            }
            found => found?,
        };
    }
    Ok(())
}

fn make(folder: BorrowedFd<'_>, name: &std::ffi::OsStr, is_file: bool) -> io::Result<()> {
    if is_file {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o644))?;
    } else {
        rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o755))?;
    }
    Ok(())
}

/// Whether this kernel (and what filters its system calls) has openat2.
#[must_use]
pub fn can_confine() -> bool {
    let confinement = Confinement { in_root: false, no_symlinks: true, no_mounts: false };
    let Ok(root) = open_folder("/") else { return false };
    open_read_confined(Some(root.as_fd()), ".", confinement).is_ok()
}

const MAX_ATTEMPTS: usize = 16;

fn resolve_flags(confinement: Confinement) -> ResolveFlags {
    let Confinement { in_root, no_symlinks, no_mounts } = confinement;
    let mut flags = ResolveFlags::empty();
    flags.set(ResolveFlags::IN_ROOT, in_root);
    flags.set(ResolveFlags::NO_SYMLINKS, no_symlinks);
    flags.set(ResolveFlags::NO_XDEV, no_mounts);
    flags
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const FREE: Confinement = Confinement { in_root: false, no_symlinks: false, no_mounts: false };

    struct ConfinedFolder(std::path::PathBuf);

    impl ConfinedFolder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("corral-confined-{name}-{}", std::process::id()));
            std::fs::create_dir_all(path.join("etc")).unwrap();
            std::fs::write(path.join("etc/passwd"), "inside").unwrap();
            symlink("/etc/passwd", path.join("absolute")).unwrap();
            symlink("../../../etc/passwd", path.join("climbing")).unwrap();
            symlink("etc/passwd", path.join("beside")).unwrap();
            Self(path)
        }

        #[track_caller]
        fn check(&self, path: &str, confinement: Confinement, expect: Result<&str, Errno>) {
            let folder = open_folder(&self.0).unwrap();
            let opened = open_read_confined(Some(folder.as_fd()), path, confinement);
            let text = opened.and_then(io::read_to_string).map_err(|e| e.raw_os_error());
            assert_eq!(
                text.as_deref().map_err(|errno| *errno),
                expect.map_err(|e| Some(e.raw_os_error())),
                "{path}"
            );
        }
    }

    impl Drop for ConfinedFolder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn links_stay_inside_a_root() {
        let folder = ConfinedFolder::new("root");
        let inside = Confinement { in_root: true, ..FREE };
        for path in ["etc/passwd", "absolute", "climbing", "beside", "../../etc/passwd", "/etc/passwd"] {
            folder.check(path, inside, Ok("inside"));
        }
        folder.check("etc/shadow", inside, Err(Errno::NOENT));
    }

    #[test]
    fn links_can_be_refused() {
        let folder = ConfinedFolder::new("links");
        let no_links = Confinement { no_symlinks: true, ..FREE };
        folder.check("etc/passwd", no_links, Ok("inside"));
        folder.check("beside", FREE, Ok("inside"));
        folder.check("beside", no_links, Err(Errno::LOOP));
        folder.check("absolute", Confinement { in_root: true, ..no_links }, Err(Errno::LOOP));
    }

    #[test]
    fn mounts_can_be_refused() {
        let root = open_folder("/").unwrap();
        let open = |no_mounts| {
            open_read_confined(Some(root.as_fd()), "proc/version", Confinement { no_mounts, ..FREE })
        };
        assert!(open(false).is_ok());
        let errno = open(true).unwrap_err().raw_os_error();
        assert_eq!(errno, Some(Errno::XDEV.raw_os_error()));
        assert!(can_confine());
    }
}
