//! The entries of a folder that is open already.

use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType};

/// The kind of an entry of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link that was not followed.
    Link,
    /// Anything else.
    Other,
}

/// An entry as `stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderEntry {
    /// The kind of entry.
    pub kind: EntryKind,
    /// In bytes.
    pub size: u64,
    /// Seconds since 1970.
    pub modified: i64,
}

/// The first folder on the way to a path, or at its end, that this process may not enter.
pub fn obstacle(path: &Path) -> Option<PathBuf> {
    let is_barred = |folder: &Path| {
        std::fs::metadata(folder.join("."))
            .is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    };
    if !is_barred(path) {
        return None;
    }
    let mut on_the_way: Vec<_> = path.ancestors().collect();
    on_the_way.reverse();
    on_the_way.into_iter().find(|folder| is_barred(folder)).map(Path::to_owned)
}

/// Calls `visit` with the name of each entry but `.` and `..`, in no order.
///
/// # Errors
/// When the folder cannot be read.
pub fn names(folder: impl AsFd, mut visit: impl FnMut(&[u8])) -> io::Result<()> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            visit(name);
        }
    }
    Ok(())
}

/// Looks at one entry, or at what it links to.
///
/// # Errors
/// When it is not there any more, or links to nothing.
pub fn entry(folder: impl AsFd, name: &[u8], follow_links: bool) -> io::Result<FolderEntry> {
    let flags = if follow_links { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    let stat = rustix::fs::statat(folder, name, flags)?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    };
    Ok(FolderEntry { kind, size: u64::try_from(stat.st_size).unwrap_or(0), modified: stat.st_mtime })
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn entries_are_what_they_are() {
        let path = std::env::temp_dir().join(format!("corral-folder-{}", std::process::id()));
        std::fs::create_dir_all(path.join("inner")).unwrap();
        std::fs::write(path.join("file"), "12345").unwrap();
        std::os::unix::fs::symlink("file", path.join("link")).unwrap();
        let folder = File::open(&path).unwrap();
        let mut found = Vec::new();
        names(&folder, |name| found.push(String::from_utf8_lossy(name).into_owned())).unwrap();
        found.sort();
        assert_eq!(found, ["file", "inner", "link"]);
        let kind = |name: &str, follow| entry(&folder, name.as_bytes(), follow).map(|entry| entry.kind).ok();
        assert_eq!(kind("inner", false), Some(EntryKind::Folder));
        assert_eq!((kind("link", false), kind("link", true)), (Some(EntryKind::Link), Some(EntryKind::File)));
        assert_eq!(entry(&folder, b"link", true).unwrap().size, 5);
        assert_eq!(kind("nothing", true), None);
        std::fs::remove_dir_all(&path).unwrap();
    }
}
