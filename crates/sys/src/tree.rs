//! Being told by the kernel of changes anywhere below a folder (inotify), as they are made.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

/// Follows folders with all that is below them. A change is here as soon as the call that made it has returned.
#[derive(Debug)]
pub struct Tree {
    inotify: OwnedFd,
    folders: HashMap<i32, PathBuf>,
    /// Whether a folder of this name is followed.
    enters: fn(&OsStr) -> bool,
}

/// A change in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeChange {
    /// Something else is at this path, or nothing any more.
    Path(PathBuf),
    /// More than the kernel could remember.
    Unknown,
}

/// Files that were written, and entries that come or go. Not each piece that is written: what is half done is of no
/// use.
const EVENTS: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO);

/// Folders that are followed at most: the kernel gives a user some ten thousands for all purposes.
const MOST_FOLDERS: usize = 8192;

impl Tree {
    /// Follows `roots`: a folder with those below it whose names `enters` takes, or the folder of a file.
    ///
    /// # Errors
    /// When there are no watches left, or too many folders.
    pub fn new(roots: &[PathBuf], enters: fn(&OsStr) -> bool) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut tree = Self { inotify, folders: HashMap::new(), enters };
        for root in roots {
            match root.parent().filter(|_| !root.is_dir()) {
                Some(folder) => drop(tree.follow(folder)?),
                None => tree.follow_all(root.clone())?,
            }
        }
        Ok(tree)
    }

    /// Follows one folder; false if there is none.
    fn follow(&mut self, folder: &Path) -> io::Result<bool> {
        match inotify::add_watch(&self.inotify, folder, EVENTS | WatchFlags::ONLYDIR) {
            Ok(number) => {
                self.folders.insert(number, folder.to_owned());
                Ok(true)
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn follow_all(&mut self, root: PathBuf) -> io::Result<()> {
        let mut waiting = vec![root];
        while let Some(folder) = waiting.pop() {
            if self.folders.len() >= MOST_FOLDERS {
                return Err(io::Error::new(io::ErrorKind::QuotaExceeded, "there are too many folders"));
            }
            if !self.follow(&folder)? {
                continue;
            }
            // Links are not followed: they may lead back.
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            let enters = self.enters;
            waiting.extend(folders.filter(|entry| enters(&entry.file_name())).map(|entry| entry.path()));
        }
        Ok(())
    }

    /// Everything that has happened since the last call, in its order. Folders that came are followed from now on, and
    /// their files have come with them.
    pub fn changes(&mut self) -> Vec<TreeChange> {
        let mut changes = Vec::new();
        let mut came = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        // What cannot be read will be readable again.
        while let Ok(event) = reader.next() {
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                changes.push(TreeChange::Unknown);
            }
            let (Some(folder), Some(name)) = (self.folders.get(&event.wd()), event.file_name()) else {
                continue;
            };
            let name = OsStr::from_bytes(name.to_bytes());
            let path = folder.join(name);
            if !flags.contains(ReadFlags::ISDIR) {
                // One that was made is written next, unless it is a link.
                if !flags.contains(ReadFlags::CREATE) || path.is_symlink() {
                    changes.push(TreeChange::Path(path));
                }
            } else if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) && (self.enters)(name) {
                came.push(path);
            } else if (self.enters)(name) {
                changes.push(TreeChange::Path(path));
            }
        }
        for folder in came {
            // Changes in what cannot be followed are not reported; code that looks at it sees them.
            let _ = self.follow_all(folder.clone());
            list(&folder, self.enters, &mut changes);
        }
        changes
    }
}

/// Adds all files below a folder.
fn list(folder: &Path, enters: fn(&OsStr) -> bool, changes: &mut Vec<TreeChange>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && enters(&entry.file_name()) => list(&entry.path(), enters, changes),
            Ok(kind) if !kind.is_dir() => changes.push(TreeChange::Path(entry.path())),
            _ => {}
        }
    }
}

impl AsFd for Tree {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn enters(name: &OsStr) -> bool {
        name != "cache"
    }

    #[test]
    fn changes_are_told_wherever_they_are_made() {
        let root = std::env::temp_dir().join(format!("corral-tree-{}", std::process::id()));
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("cache")).unwrap();
        let mut tree = Tree::new(std::slice::from_ref(&root), enters).unwrap();
        let mut check = |expected: &[&str]| {
            let expected: Vec<_> = expected.iter().map(|name| TreeChange::Path(root.join(name))).collect();
            assert_eq!(tree.changes(), expected);
        };
        check(&[]);
        fs::write(root.join("a/b/x.py"), "1").unwrap();
        check(&["a/b/x.py"]);
        fs::write(root.join("cache/x.py"), "1").unwrap();
        check(&[]);
        fs::write(root.join(".new"), "2").unwrap();
        fs::rename(root.join(".new"), root.join("a/b/x.py")).unwrap();
        check(&[".new", ".new", "a/b/x.py"]);
        symlink("b/x.py", root.join("a/link")).unwrap();
        check(&["a/link"]);
        fs::create_dir_all(root.join("c/d")).unwrap();
        fs::write(root.join("c/d/y.py"), "1").unwrap();
        check(&["c/d/y.py"]);
        fs::write(root.join("c/d/y.py"), "2").unwrap();
        check(&["c/d/y.py"]);
        fs::remove_file(root.join("c/d/y.py")).unwrap();
        check(&["c/d/y.py"]);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn the_folder_of_a_file_is_followed_alone() {
        let root = std::env::temp_dir().join(format!("corral-tree-file-{}", std::process::id()));
        fs::create_dir_all(root.join("a")).unwrap();
        fs::write(root.join("app.wasm"), "1").unwrap();
        let mut tree = Tree::new(&[root.join("app.wasm")], enters).unwrap();
        fs::write(root.join("a/x"), "1").unwrap();
        fs::write(root.join("app.wasm"), "2").unwrap();
        assert_eq!(tree.changes(), [TreeChange::Path(root.join("app.wasm"))]);
        fs::remove_dir_all(&root).unwrap();
    }
}
