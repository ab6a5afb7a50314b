//! Packages for Node.js: those of the registry that tests need, and the repository's own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGES: &str = "package.json";

/// The repository's package, installed as its users do.
const OWN: &str = "unit-http";

/// A folder with the packages; installed once in this target folder, if they have changed.
pub(crate) fn packages() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("node");
    fs::create_dir_all(&folder).expect("make the folder");
    let lock = File::create(folder.join("lock")).expect("make a lock");
    lock.lock().expect("one test installs them at a time");
    let wanted = wanted();
    let installed = folder.join("installed");
    if fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        return folder;
    }
    let _ = fs::remove_dir_all(folder.join("node_modules").join(OWN));
    let list = fixture();
    fs::write(folder.join(PACKAGES), list).expect("write the list");
    npm(&folder, &[]);
    npm(&folder, &["--no-save", "--install-links", &own_folder("node").display().to_string()]);
    fs::write(installed, wanted).expect("note what is installed");
    folder
}

/// `npm install` in this folder.
pub(crate) fn npm(folder: &Path, more: &[&str]) {
    let mut npm = Command::new("npm");
    npm.args([
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        "--loglevel=error",
    ]);
    let status = npm.args(more).current_dir(folder).status().expect("npm is installed: scripts/setup test");
    assert!(status.success(), "npm install: {status}");
}

fn fixture() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/programs").join(PACKAGES);
    fs::read_to_string(path).expect("the list is there")
}

/// The repository's package for a language.
pub(crate) fn own_folder(language: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk").join(language);
    folder.canonicalize().expect("the package is there")
}

/// The list, and the text of all that is not in a registry.
fn wanted() -> String {
    let entries = fs::read_dir(own_folder("node")).expect("read the package");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("read the package").path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    let texts = files.iter().map(|path| fs::read_to_string(path).expect("sources are text"));
    [fixture()].into_iter().chain(texts).collect()
}
