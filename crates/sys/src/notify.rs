//! Being told by the kernel that something may have changed on the way to files (inotify).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

use crate::sendable;

/// Watches what paths lead through. It is readable from the first change on, and is then replaced by another one, as
/// paths may lead elsewhere.
#[derive(Debug)]
pub struct Notice(OwnedFd);

impl Notice {
    /// Watches the files and folders at absolute paths, all folders that lead there, and what symbolic links among them
    /// lead to. What does not exist is noticed when it comes. None where the kernel does not hear of every change, as
    /// on the file systems of other machines.
    ///
    /// # Errors
    /// When there are no watches left, or no descriptor.
    pub fn new(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> io::Result<Option<Self>> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut way = BTreeSet::new();
        paths.into_iter().for_each(|path| follow(path.as_ref(), &mut way));
        for place in way {
            let flags = COMES_OR_GOES | CHANGES | WatchFlags::MASK_ADD;
            match inotify::add_watch(&inotify, &place, flags) {
                Ok(_) if is_told_of(&place) => {}
                Ok(_) => return Ok(None),
                // What has gone meanwhile is noticed in the folder that it was in.
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                // What cannot be read may be passed through: only its content is not told of.
                Err(Errno::ACCESS) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(Self(inotify)))
    }
}

impl AsFd for Notice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// By which a path leads elsewhere.
const COMES_OR_GOES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF);

/// By which a file has other content.
const CHANGES: WatchFlags = WatchFlags::MODIFY.union(WatchFlags::ATTRIB).union(WatchFlags::CLOSE_WRITE);

/// As many as the kernel follows.
const MOST_LINKS: usize = 40;

/// Collects every folder that has an entry of the way to a path, and its end.
fn follow(path: &Path, way: &mut BTreeSet<PathBuf>) {
    let mut at = PathBuf::from("/");
    let mut left = reversed(path);
    let mut n_links = 0;
    while let Some(name) = left.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        way.insert(at.clone());
        let next = at.join(&name);
        match std::fs::read_link(&next) {
            Ok(target) => {
                n_links += 1;
                if n_links > MOST_LINKS {
                    return;
                }
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                left.extend(reversed(&target));
            }
            Err(_) => at = next,
        }
    }
    way.insert(at);
}

/// The names in a path, the first one last.
fn reversed(path: &Path) -> Vec<OsString> {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    let mut names: Vec<_> = names.map(|part| part.as_os_str().to_owned()).collect();
    names.reverse();
    names
}

/// Whether all changes are made by this machine. Unlike for other purposes, layers (overlayfs) are as good as what they
/// lie above, which must not be changed directly.
fn is_told_of(place: &Path) -> bool {
    const OVERLAYFS: u32 = 0x794c_7630;
    rustix::fs::statfs(place).is_ok_and(|about| {
        let kind = about.f_type as u32;
        kind == OVERLAYFS || sendable::LOCAL.contains(&kind)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::*;
    use crate::poll::{self, Interest};

    /// A folder that ends with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("corral-notify-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path.canonicalize().unwrap())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Checks that a watch of `path` reports a change of `act` to what `prepare` made.
    #[track_caller]
    fn check(name: &str, path: &str, prepare: impl Fn(&Path), act: impl Fn(&Path)) {
        let folder = Folder::new(name);
        prepare(&folder.0);
        let notice = Notice::new([folder.0.join(path)]).unwrap();
        // A machine whose files are those of another one reports nothing.
        let Some(notice) = notice else { return };
        act(&folder.0);
        let ready = poll::wait(&[(notice.as_fd(), Interest::Read)], Some(Duration::from_secs(10))).unwrap();
        assert!(ready[0].readable, "{name}");
    }

    fn write(folder: &Path, name: &str) {
        fs::write(folder.join(name), "x").unwrap();
    }

    #[test]
    fn files_are_written_and_replaced() {
        check("write", "a", |at| write(at, "a"), |at| write(at, "a"));
        let replace = |at: &Path| {
            write(at, ".a");
            fs::rename(at.join(".a"), at.join("a")).unwrap();
        };
        check("replace", "a", |at| write(at, "a"), replace);
        check("remove", "a", |at| write(at, "a"), |at| fs::remove_file(at.join("a")).unwrap());
    }

    #[test]
    fn what_is_missing_comes() {
        check("file", "a", |_| {}, |at| write(at, "a"));
        check("folder", "b/c/a", |_| {}, |at| fs::create_dir(at.join("b")).unwrap());
        check("in a folder", "b", |at| fs::create_dir(at.join("b")).unwrap(), |at| write(at, "b/a"));
    }

    /// As a ConfigMap of Kubernetes changes: `a` leads to `..data/a`, `..data` to a folder, and another link takes the
    /// place of that.
    #[test]
    fn links_lead_elsewhere() {
        let prepare = |at: &Path| {
            for folder in ["..1", "..2"] {
                fs::create_dir(at.join(folder)).unwrap();
                write(at, &format!("{folder}/a"));
            }
            symlink("..1", at.join("..data")).unwrap();
            symlink("..data/a", at.join("a")).unwrap();
        };
        let exchange = |at: &Path| {
            symlink("..2", at.join("..new")).unwrap();
            fs::rename(at.join("..new"), at.join("..data")).unwrap();
        };
        check("config map", "a", prepare, exchange);
        check("behind links", "a", prepare, |at| write(at, "..1/a"));
        check("a link itself", "..data/../a", prepare, |at| fs::remove_file(at.join("a")).unwrap());
    }

    #[test]
    fn links_without_end_are_left() {
        check(
            "loop",
            "a",
            |at| symlink("a", at.join("a")).unwrap(),
            |at| fs::remove_file(at.join("a")).unwrap(),
        );
    }

    #[test]
    fn other_file_systems_tell_nothing() {
        assert!(Notice::new(["/proc/self/status"]).unwrap().is_none());
    }
}
