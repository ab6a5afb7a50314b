//! Files of the state directory, replaced so that at any moment the whole old or the whole new content is there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Puts a content in the place of a file in this folder, or makes one. Another file there is written first.
pub(crate) fn replace(folder: &Path, path: &Path, temporary: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = corral_sys::file::create(temporary, 0o600)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    if let Err(error) = written.and_then(|()| fs::rename(temporary, path)) {
        // It takes room where there may be none.
        let _ = fs::remove_file(temporary);
        return Err(error);
    }
    sync_names(folder)
}

/// Waits until the names in a folder are safe: those of files are only when their folder is.
pub(crate) fn sync_names(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_that_cannot_take_its_place_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (path, temporary) = (folder.path().join("a"), folder.path().join("a.new"));
        for content in ["old", "new"] {
            replace(folder.path(), &path, &temporary, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        let taken = folder.path().join("folder");
        fs::create_dir(&taken).unwrap();
        assert!(replace(folder.path(), &taken, &temporary, b"x").is_err());
        fs::create_dir(&temporary).unwrap();
        assert!(replace(folder.path(), &path, &temporary, b"x").is_err());
        fs::remove_dir(&temporary).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
