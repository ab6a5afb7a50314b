//! WebAssembly components for tests, from `tests/fixtures/wasm`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The file of a component, whose folder is `name`. `CORRAL_COMPONENTS` names a folder where all are ready; else
/// they are built if they are not up to date.
pub fn component(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let ready = std::env::var_os("CORRAL_COMPONENTS").map(PathBuf::from);
        ready.unwrap_or_else(|| build(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wasm")))
    });
    let file = folder.join(format!("{name}.wasm"));
    assert!(file.exists(), "{} is missing", file.display());
    file
}

/// Builds the components of a workspace, and says in which folder they are. Needs `rustup target add wasm32-wasip2`.
fn build(workspace: &Path) -> PathBuf {
    let test = std::env::current_exe().expect("the test executable has a path");
    let target = test.ancestors().nth(3).expect("cargo puts tests in TARGET/PROFILE/deps").join("components");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--release", "--target", "wasm32-wasip2", "--target-dir"])
        .arg(&target)
        .current_dir(workspace)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "build the components: {status}");
    target.join("wasm32-wasip2/release")
}
