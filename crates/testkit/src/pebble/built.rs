//! The executables of pebble, compiled once from the Go module that `tests/fixtures/pebble` names.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::go::build_go;

/// The authority.
pub(super) fn pebble() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("pebble"))
}

/// The challenge server's DNS, which tests tell what to answer.
pub(super) fn challenge_server() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("pebble-challtestsrv"))
}

/// Test executables lie in `TARGET/PROFILE/deps/`; `TARGET/tmp` is for what they make.
fn build(command: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test executable has a path");
    let folder = test.ancestors().nth(3).expect("cargo puts tests in TARGET/PROFILE/deps").join("tmp");
    std::fs::create_dir_all(&folder).expect("make the folder");
    let path = folder.join(command);
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pebble");
    build_go(&module, &format!("github.com/letsencrypt/pebble/v2/cmd/{command}"), &path);
    path
}
