//! The executables of pebble, compiled once from the Go module that `tests/fixtures/pebble` names.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::go::build_go_with;

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
    fs::create_dir_all(&folder).expect("make the folder");
    let path = folder.join(command);
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pebble");
    let corrected = corrected(&module, &folder);
    let options = [OsStr::new("-modfile"), corrected.as_os_str()];
    build_go_with(&module, &format!("{PEBBLE}/cmd/{command}"), &path, &options);
    path
}

const PEBBLE: &str = "github.com/letsencrypt/pebble/v2";

/// Wrong lines of pebble 2.10.1, and right ones for their place. The handler of orders locks one for reading twice, so
/// the whole authority stands still when another request wants to write between
/// (<https://github.com/letsencrypt/pebble/issues/554>). A version that has it right needs none of them.
const CORRECTIONS: &[(&str, &str)] = &[
    (
        "orderAccountID := order.AccountID\n\tdefer order.RUnlock()",
        "orderAccountID, orderStatus := order.AccountID, order.Status\n\torder.RUnlock()",
    ),
    ("if order.Status == acme.StatusProcessing {", "if orderStatus == acme.StatusProcessing {"),
];

/// A description of the module by which pebble is compiled from a corrected copy. One test at a time makes it, unless
/// it is there.
fn corrected(module: &Path, folder: &Path) -> PathBuf {
    let copy = folder.join("pebble-source");
    let lock = File::create(copy.with_extension("lock")).expect("make a lock");
    lock.lock().expect("one test makes the copy");
    let original = source(module);
    let handlers = Path::new("wfe/wfe.go");
    let mut text = fs::read_to_string(original.join(handlers)).expect("pebble's source");
    for (wrong, right) in CORRECTIONS {
        assert_eq!(text.matches(wrong).count(), 1, "another version of pebble: {wrong}");
        text = text.replace(wrong, right);
    }
    let read = |name: &str| fs::read_to_string(module.join(name)).expect("the module is described");
    let replaced = format!("{}\nreplace {PEBBLE} => {}\n", read("go.mod"), copy.display());
    let description = folder.join("pebble.mod");
    let is_there = |path: &Path, text: &str| fs::read_to_string(path).is_ok_and(|old| old == text);
    if is_there(&copy.join(handlers), &text) && is_there(&description, &replaced) {
        return description;
    }
    let mut cp = Command::new("cp");
    cp.args(["-r", "--no-preserve=mode", "-T"]).args([&original, &copy]);
    assert!(cp.status().expect("cp runs").success(), "{cp:?}");
    fs::write(&description, replaced).expect("write the description");
    fs::write(folder.join("pebble.sum"), read("go.sum")).expect("write the sums");
    // The last file, by which the next test knows that the others are there.
    fs::write(copy.join(handlers), text).expect("write the corrected file");
    description
}

/// The folder of pebble's source, which is fetched if need be.
fn source(module: &Path) -> PathBuf {
    let mut go = Command::new("go");
    let output = go.args(["mod", "download", "-json", PEBBLE]).current_dir(module).output();
    let output = output.expect("go is installed: scripts/setup test");
    let about: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    about["Dir"].as_str().unwrap_or_else(|| panic!("go mod download: {about}")).into()
}
