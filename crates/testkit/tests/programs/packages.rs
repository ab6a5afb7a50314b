//! Packages for Node.js: those of the registry that tests need, and the repository's own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use corral_testkit::site;

const PACKAGES: &str = "package.json";

/// The repository's package, installed as its users do.
const OWN: &str = "unit-http";

/// The folder where it is complete.
const COMPLETE: &str = "complete";

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
    npm(&folder, &["--no-save", "--install-links", &complete(&folder).display().to_string()]);
    fs::write(installed, wanted).expect("note what is installed");
    folder
}

/// The repository's package with what goes with it, as `make install` puts it somewhere.
fn complete(folder: &Path) -> PathBuf {
    let complete = folder.join(COMPLETE);
    let _ = fs::remove_dir_all(&complete);
    fs::create_dir_all(&complete).expect("make the folder");
    for path in own_files() {
        let name = path.file_name().expect("files have names");
        fs::copy(&path, complete.join(name)).expect("copy the package");
    }
    npm(&complete, &[]);
    complete
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

/// The files of the repository's package.
fn own_files() -> Vec<PathBuf> {
    let entries = fs::read_dir(own_folder("node")).expect("read the package");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("read the package").path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

/// The list, and the text of all that is not in a registry.
fn wanted() -> String {
    let files = own_files().into_iter();
    let texts = files.map(|path| fs::read_to_string(path).expect("sources are text"));
    std::iter::once(fixture()).chain(texts).collect()
}

/// The package stays where it was copied to when npm is asked to install something else there.
#[test]
fn the_package_outlives_what_npm_does_next() {
    let other = r#"{ "name": "other", "version": "1.0.0" }"#;
    let site = site().file("app/package.json", "{}").file("other/package.json", other);
    let app = site.path("app");
    let run = |command: &str, arguments: &[&str]| {
        let done = Command::new(command).args(arguments).current_dir(&app).output().expect("it is installed");
        assert!(done.status.success(), "{command} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let own = packages().join(COMPLETE).display().to_string();
    let check = "require('unit-http').createServer(); require('unit-http/websocket').server.name";
    for step in
        [&["install", "--install-links", own.as_str()][..], &["install", "../other"], &["ci"], &["install"]]
    {
        run("npm", &[step, &["--offline", "--no-audit", "--no-fund", "--loglevel=error"]].concat());
        run("node", &["--eval", check]);
        run("node", &["--require", "unit-http/loader", "--eval", "require('websocket').connection.name"]);
    }
}
