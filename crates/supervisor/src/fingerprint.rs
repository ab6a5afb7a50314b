//! Whether files are what they were, and the code in folders, without reading them.

use std::fs::{self, DirEntry, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::code::{enters, is_code};

/// Entries of a folder that are looked at, with those of the folders in it: the look is taken every second.
const MOST_ENTRIES: usize = 10_000;

/// Some paths, and what was there.
#[derive(Debug, Default)]
pub(crate) struct Fingerprints {
    depth: Depth,
    entries: Vec<(PathBuf, Fingerprint)>,
}

/// How much of a folder is looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Depth {
    /// All code below it.
    #[default]
    Code,
    /// Which entries it has.
    Entries,
}

/// The kind of file behind a path.
#[derive(Debug, PartialEq, Eq)]
struct Fingerprint {
    /// The entry itself, and what it leads to if it is a symbolic link.
    own: [Option<FileState>; 2],
    /// The code below, if it is a folder.
    code: u64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FileState {
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

impl Fingerprints {
    pub(crate) fn take(paths: &[PathBuf]) -> Self {
        Self::at(Depth::Code, paths)
    }

    /// The same without what is below folders: an entry that comes, goes or is replaced counts.
    pub(crate) fn of_entries(paths: &[PathBuf]) -> Self {
        Self::at(Depth::Entries, paths)
    }

    fn at(depth: Depth, paths: &[PathBuf]) -> Self {
        let entries = paths.iter().map(|path| (path.clone(), fingerprint(path, depth)));
        Self { depth, entries: entries.collect() }
    }

    /// The first path that leads to something else by now, or to something that was modified.
    pub(crate) fn changed(&self) -> Option<&Path> {
        let changed = self.entries.iter().find(|(path, before)| fingerprint(path, self.depth) != *before);
        changed.map(|(path, _)| path.as_path())
    }
}

fn fingerprint(path: &Path, depth: Depth) -> Fingerprint {
    let (entry, target) = (path.symlink_metadata().ok(), path.metadata().ok());
    let has_code = depth == Depth::Code && target.as_ref().is_some_and(Metadata::is_dir);
    let code = if has_code { code_below(path) } else { 0 };
    Fingerprint { own: [entry.as_ref().map(state), target.as_ref().map(state)], code }
}

fn state(file: &Metadata) -> FileState {
    FileState { device: file.dev(), inode: file.ino(), modified: (file.mtime(), file.mtime_nsec()) }
}

/// All code in a folder as a number: what is written there while the application runs is none.
fn code_below(folder: &Path) -> u64 {
    let mut hash = DefaultHasher::new();
    let mut n_left = MOST_ENTRIES;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().take(n_left).collect();
        n_left -= entries.len();
        entries.sort_by_key(DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.extend(enters(&entry.file_name()).then_some(path));
            } else if is_code(&path) {
                (path.metadata().ok().as_ref().map(state), path).hash(&mut hash);
            }
        }
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn every_kind_of_change_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        let paths = [file.clone(), link.clone()];
        let mut before = Fingerprints::take(&paths);
        let mut check = |expected: Option<&Path>| {
            assert_eq!(before.changed(), expected);
            before = Fingerprints::take(&paths);
            assert_eq!(before.changed(), None);
        };
        check(None);
        fs::write(&file, "a").unwrap();
        check(Some(&file));
        File::open(&file).unwrap().set_modified(SystemTime::now() + Duration::from_secs(10)).unwrap();
        check(Some(&file));
        for release in ["1", "2"] {
            fs::create_dir(folder.path().join(release)).unwrap();
        }
        symlink("1", &link).unwrap();
        check(Some(&link));
        symlink("2", folder.path().join("new")).unwrap();
        fs::rename(folder.path().join("new"), &link).unwrap();
        check(Some(&link));
        fs::write(folder.path().join("2/entry"), "a").unwrap();
        check(Some(&link));
        fs::remove_file(&file).unwrap();
        check(Some(&file));
    }

    #[test]
    fn code_in_a_folder_is_followed_and_what_runs_write_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["src/Http", "vendor", "storage", ".git"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        let modify = |name: &str, seconds: u64| {
            fs::write(path(name), "a").unwrap();
            let file = File::options().write(true).open(path(name)).unwrap();
            file.set_modified(SystemTime::now() + Duration::from_secs(seconds)).unwrap();
        };
        let code = ["a.php", "src/a.php", "src/Http/b.twig"];
        let other = ["app.sqlite", "src/x.log", "vendor/a.php", "storage/a.php", ".git/a.php"];
        code.iter().chain(&other).for_each(|name| modify(name, 0));
        let paths = [folder.path().to_owned()];
        let before = Fingerprints::take(&paths);
        other.iter().for_each(|name| modify(name, 10));
        assert_eq!(before.changed(), None);
        for name in code {
            let before = Fingerprints::take(&paths);
            modify(name, 20);
            assert_eq!(before.changed(), Some(folder.path()), "{name}");
        }
        let before = Fingerprints::take(&paths);
        fs::remove_file(path("src/a.php")).unwrap();
        assert_eq!(before.changed(), Some(folder.path()));
    }
}
