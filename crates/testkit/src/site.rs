//! A temporary folder of files that any user may read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The folder of a test's site; removed when dropped.
#[derive(Debug)]
pub struct Site {
    dir: TempDir,
}

/// An empty site.
#[must_use]
pub fn site() -> Site {
    Site { dir: readable_temp_dir() }
}

/// Workers run as another user than a test that was started by root.
pub(crate) fn readable_temp_dir() -> TempDir {
    let dir =
        tempfile::Builder::new().prefix("corral-test-").tempdir().expect("the temporary folder is writable");
    set_mode(dir.path(), 0o755);
    dir
}

impl Site {
    /// Adds a file, and the folders above it.
    #[must_use]
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    /// Writes a file while the site is in use.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        let parent = path.parent().expect("a file lies in a folder");
        fs::create_dir_all(parent).expect("make the folder");
        fs::write(&path, content).expect("write the file");
        set_mode(&path, 0o644);
    }

    /// Adds an empty folder that every user may write to.
    #[must_use]
    pub fn writable_folder(self, path: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(&path).expect("make the folder");
        set_mode(&path, 0o777);
        self
    }

    /// Copies a folder of the repository into the site.
    #[must_use]
    pub fn copy_of(self, source: &Path) -> Self {
        copy_folder(source, self.dir.path());
        self
    }

    /// Copies parts of a folder of the repository into the site: leaves out what using it has left there.
    #[must_use]
    pub fn copy_parts_of(self, source: &Path, parts: &[&str]) -> Self {
        for part in parts {
            copy_folder(&source.join(part), &self.dir.path().join(part));
        }
        self
    }

    /// Puts the package `unit-http` among those that Node.js finds from here.
    pub fn write_node_package(&self) {
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/node");
        for entry in fs::read_dir(package).expect("read the package") {
            let path = entry.expect("read the package").path();
            if path.extension().is_some_and(|extension| extension == "js" || extension == "json") {
                let name = path.file_name().and_then(|name| name.to_str()).expect("names are text");
                let content = fs::read(&path).expect("read the package");
                self.write(&format!("node_modules/unit-http/{name}"), content);
            }
        }
    }

    /// The path of `name` in the site; the site's own with an empty name.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.dir.path().to_owned() } else { self.dir.path().join(name) }
    }

    /// The site's folder, as text for configurations.
    #[must_use]
    pub fn root(&self) -> String {
        self.dir.path().to_str().expect("temporary paths are text").to_owned()
    }

    /// The content of a file, as it is now.
    #[must_use]
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("read {name}: {error}"))
    }
}

fn copy_folder(source: &Path, target: &Path) {
    fs::create_dir_all(target).expect("make the folder");
    set_mode(target, 0o755);
    for entry in fs::read_dir(source).unwrap_or_else(|error| panic!("read {}: {error}", source.display())) {
        let entry = entry.expect("read the folder");
        let to = target.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).expect("copy the file");
            set_mode(&to, 0o644);
        }
    }
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set the mode");
}
