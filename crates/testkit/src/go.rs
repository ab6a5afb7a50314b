//! Executables in Go, compiled for the tests.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// Compiles a package of a module into an executable, unless it is there as it would be. One test at a time does so: an
/// executable is not run while it is being written.
///
/// # Panics
/// When it does not compile.
#[track_caller]
pub fn build_go(module: &Path, package: &str, executable: &Path) {
    build_go_with(module, package, executable, &[]);
}

/// The same with further options.
#[track_caller]
pub(crate) fn build_go_with(module: &Path, package: &str, executable: &Path, options: &[&OsStr]) {
    let lock = File::create(executable.with_extension("lock")).expect("make a lock");
    lock.lock().expect("one test compiles it at a time");
    let mut go = Command::new("go");
    go.arg("build")
        .args(options)
        .arg("-o")
        .arg(executable)
        .arg(package)
        .current_dir(module)
        .env("CGO_ENABLED", "0");
    let status = go.status().expect("go is installed: scripts/setup test");
    assert!(status.success(), "go build: {status}");
}
