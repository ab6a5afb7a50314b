//! The file that tells service managers which process is the main one.

use std::fs::{self, DirBuilder};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use anyhow::Context;
use corral_sys::file;

/// The written file; removed when dropped.
#[derive(Debug)]
pub(crate) struct PidFile {
    path: PathBuf,
}

impl PidFile {
    /// Writes this process's id and a newline; creates the folder. Follows no symbolic link.
    pub(crate) fn write(path: PathBuf) -> anyhow::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let made =
            folder.map_or(Ok(()), |folder| DirBuilder::new().recursive(true).mode(0o755).create(folder));
        made.and_then(|()| file::create(&path, 0o644)?.write_all(content().as_bytes()))
            .with_context(|| format!("write the pid file \"{}\"", path.display()))?;
        Ok(Self { path })
    }
}

fn content() -> String {
    format!("{}\n", std::process::id())
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // The file is another daemon's by now if two were told the same path.
        if fs::read_to_string(&self.path).is_ok_and(|text| text == content()) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_no_link_and_goes_with_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("kept"), "kept").unwrap();
        std::os::unix::fs::symlink("kept", path("link")).unwrap();
        let error = PidFile::write(path("link")).unwrap_err();
        assert!(format!("{error:#}").contains("link\": it is a symbolic link"), "{error:#}");
        assert_eq!(fs::read(path("kept")).unwrap(), b"kept");
        let written = PidFile::write(path("run/pid")).unwrap();
        assert_eq!(fs::read_to_string(path("run/pid")).unwrap(), content());
        drop(written);
        assert!(!path("run/pid").exists());
    }
}
