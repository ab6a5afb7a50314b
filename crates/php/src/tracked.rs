//! A path, where it leads, and whether it still leads there: a deployment moves a symbolic link on it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A path that was resolved.
pub(crate) struct Tracked {
    given: PathBuf,
    path: PathBuf,
    identity: FileIdentity,
}

/// Device and inode.
type FileIdentity = (u64, u64);

impl Tracked {
    /// Follows all links.
    ///
    /// # Errors
    /// When it leads nowhere.
    pub(crate) fn resolve(given: PathBuf) -> io::Result<Self> {
        let path = fs::canonicalize(&given)?;
        let identity = identity(&path)?;
        Ok(Self { given, path, identity })
    }

    /// As it was named.
    pub(crate) fn given(&self) -> &Path {
        &self.given
    }

    /// Absolute, without symbolic links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there was a link on the way.
    pub(crate) fn is_linked(&self) -> bool {
        self.given != self.path
    }

    /// Whether it leads there still: one system call, and two if there is a link on the way. The second one notices
    /// that what it led to has another name now.
    pub(crate) fn is_current(&self) -> bool {
        self.is_at(&self.given) && (!self.is_linked() || self.is_at(&self.path))
    }

    fn is_at(&self, path: &Path) -> bool {
        identity(path).is_ok_and(|identity| identity == self.identity)
    }
}

fn identity(path: &Path) -> io::Result<FileIdentity> {
    fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Two releases and `current`, which leads to the first; `act` changes something.
    #[track_caller]
    fn check(act: impl FnOnce(&Path), expect: bool) {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        for release in ["1/public", "2/public"] {
            fs::create_dir_all(folder.join(release)).unwrap();
        }
        symlink("1", folder.join("current")).unwrap();
        let tracked = Tracked::resolve(folder.join("current/public")).unwrap();
        assert_eq!(tracked.path(), folder.join("1/public"));
        assert!(tracked.is_linked() && tracked.is_current());
        act(&folder);
        assert_eq!(tracked.is_current(), expect);
    }

    #[test]
    fn a_link_that_moves_is_noticed() {
        let lead_to = |release: &'static str| {
            move |folder: &Path| {
                symlink(release, folder.join("new")).unwrap();
                fs::rename(folder.join("new"), folder.join("current")).unwrap();
            }
        };
        check(lead_to("2"), false);
        check(lead_to("nowhere"), false);
        check(lead_to("1"), true);
        check(|folder| fs::remove_file(folder.join("current")).unwrap(), false);
    }

    #[test]
    fn so_is_a_folder_with_another_name() {
        check(
            |folder| {
                fs::rename(folder.join("1"), folder.join("old")).unwrap();
                fs::remove_file(folder.join("current")).unwrap();
                symlink("old", folder.join("current")).unwrap();
            },
            false,
        );
    }

    #[test]
    fn what_happens_elsewhere_changes_nothing() {
        check(|folder| fs::write(folder.join("1/public/a.php"), "x").unwrap(), true);
        check(|folder| fs::remove_dir_all(folder.join("2")).unwrap(), true);
    }

    #[test]
    fn a_path_without_links_leads_to_itself() {
        let folder = tempfile::tempdir().unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        let tracked = Tracked::resolve(folder.clone()).unwrap();
        assert!(!tracked.is_linked() && tracked.is_current());
        assert!(Tracked::resolve(folder.join("none")).is_err());
    }
}
