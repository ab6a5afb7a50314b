//! The entries of a folder, and the signs in it.

use std::fs;
use std::path::{Path, PathBuf};

/// The signs that a folder shows by itself.
pub(super) const INDEXES: [&str; 3] = ["index.php", "index.html", "index.htm"];

/// Whether a folder has a file of this name.
pub(super) fn has(folder: &Path, name: &str) -> bool {
    folder.join(name).is_file()
}

/// The names in a folder, sorted; nothing for one that cannot be read.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// The folders among these that belong to the site itself; links are not followed.
pub(super) fn subfolders(entries: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    entries.iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_folder = path.symlink_metadata().is_ok_and(|data| data.is_dir());
        is_folder && !name.starts_with('.') && name != "vendor" && name != "node_modules"
    })
}
