//! Whether files are what they were, without reading them.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Some paths, and what was there.
#[derive(Debug, Default)]
pub(crate) struct Fingerprints(Vec<(PathBuf, Fingerprint)>);

/// What is behind a path: the entry itself, and what it leads to if it is a symbolic link.
type Fingerprint = [Option<FileState>; 2];

#[derive(Debug, PartialEq, Eq)]
struct FileState {
    device: u64,
    inode: u64,
    modified: (i64, i64),
}

impl Fingerprints {
    pub(crate) fn take(paths: &[PathBuf]) -> Self {
        Self(paths.iter().map(|path| (path.clone(), fingerprint(path))).collect())
    }

    /// The first path that leads to something else by now, or to something that was modified.
    pub(crate) fn changed(&self) -> Option<&Path> {
        let changed = self.0.iter().find(|(path, before)| fingerprint(path) != *before);
        changed.map(|(path, _)| path.as_path())
    }
}

fn fingerprint(path: &Path) -> Fingerprint {
    let state = |file: Metadata| FileState {
        device: file.dev(),
        inode: file.ino(),
        modified: (file.mtime(), file.mtime_nsec()),
    };
    [path.symlink_metadata().ok().map(state), path.metadata().ok().map(state)]
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
}
