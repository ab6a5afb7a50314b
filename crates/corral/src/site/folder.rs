//! The entries of a folder, and the signs in it.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The signs that a folder shows by itself.
pub(super) const INDEXES: [&str; 3] = ["index.php", "index.html", "index.htm"];

/// Whether a folder has a file of this name.
pub(super) fn has(folder: &Path, name: &str) -> bool {
    folder.join(name).is_file()
}

/// More entries of a folder are not looked at.
const MOST_ENTRIES: usize = 10_000;

/// More sources of a folder are not read.
pub(super) const MOST_SOURCES: usize = 200;

/// A file that is longer is not read to its end.
const LONGEST_FILE: u64 = 4 * 1024 * 1024;

/// The names in a folder, sorted; nothing for one that cannot be read.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries.take(MOST_ENTRIES).map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// Opens a regular file. A device, a FIFO or a socket may do something when it is opened, or never end.
pub(super) fn open(path: &Path) -> Option<File> {
    let is_regular = path.metadata().is_ok_and(|data| data.is_file());
    // What has taken its place meanwhile does not hold this up.
    let file = corral_sys::file::open_read(path).ok().filter(|_| is_regular)?;
    file.metadata().is_ok_and(|data| data.is_file()).then_some(file)
}

/// The content of a regular file, up to a bound.
pub(super) fn read(path: &Path) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.take(LONGEST_FILE).read_to_end(&mut content).ok()?;
    Some(content)
}

/// The same as text; empty for what cannot be read.
pub(super) fn read_text(path: &Path) -> String {
    String::from_utf8_lossy(&read(path).unwrap_or_default()).into_owned()
}

/// Folders in which the kernel shows the machine: without an end, and without a site.
pub(super) const OF_THE_MACHINE: [&str; 3] = ["/dev", "/proc", "/sys"];

/// The folders among these that belong to the site itself; links are not followed.
pub(super) fn subfolders(entries: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    entries.iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_folder = path.symlink_metadata().is_ok_and(|data| data.is_dir());
        let is_machine = OF_THE_MACHINE.iter().any(|folder| *path == Path::new(folder));
        is_folder && !is_machine && !name.starts_with('.') && name != "vendor" && name != "node_modules"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opened as a file, each of these would wait for a peer, or have no end.
    #[test]
    fn regular_files_alone_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(path("fifo")).status().unwrap();
        assert!(made.success());
        std::os::unix::fs::symlink("/dev/zero", path("endless")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        fs::write(path("file"), "text").unwrap();
        std::os::unix::fs::symlink(path("file"), path("link")).unwrap();
        for name in ["fifo", "endless", "socket", "missing", ""] {
            assert_eq!(read(&path(name)), None, "{name}");
        }
        assert_eq!([read_text(&path("file")), read_text(&path("link"))], ["text", "text"]);
    }

    #[test]
    fn long_files_and_full_folders_are_not_read_to_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("long");
        File::create(&long).unwrap().set_len(LONGEST_FILE * 1000).unwrap();
        assert_eq!(read(&long).unwrap().len() as u64, LONGEST_FILE);
        for number in 0..MOST_ENTRIES + 5 {
            fs::hard_link(&long, folder.path().join(number.to_string())).unwrap();
        }
        assert_eq!(entries(folder.path()).len(), MOST_ENTRIES);
    }
}
