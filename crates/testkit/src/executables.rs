//! Where the executables under test are, built in the profile of the running test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The daemon, and the host of each language.
const PACKAGES: [&str; 6] =
    ["corral", "corral-perl", "corral-php", "corral-python", "corral-ruby", "corral-wasm"];

/// The executables under test.
#[derive(Debug, Clone)]
pub struct Executables {
    /// The folder of all of them.
    pub dir: PathBuf,
    /// Daemon and command line.
    pub corral: PathBuf,
}

/// Builds them if they are not up to date. `CORRAL_BIN_DIR` names a folder where they are ready:
/// `scripts/check` builds once and sets it, so that not every test asks cargo again.
pub fn executables() -> &'static Executables {
    static FOUND: OnceLock<Executables> = OnceLock::new();
    FOUND.get_or_init(|| {
        let dir = std::env::var_os("CORRAL_BIN_DIR").map_or_else(build, PathBuf::from);
        let corral = dir.join("corral");
        let packages = PACKAGES.join(" -p ");
        assert!(corral.exists(), "{} is missing: cargo build -p {packages}", corral.display());
        Executables { dir, corral }
    })
}

/// The version of a language that its host is built for, such as 8.4 or 3.13.
///
/// # Panics
/// When the host does not describe itself.
#[must_use]
pub fn version_of(language: &str) -> String {
    let host = executables().dir.join(format!("corral-{language}"));
    let output = Command::new(&host).arg("describe").output().expect("it is built");
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = answer.split_ascii_whitespace().nth(1);
    let version = version.unwrap_or_else(|| panic!("{} answers {output:?}", host.display()));
    version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".")
}

/// Test executables lie in `TARGET/PROFILE/deps/`.
fn build() -> PathBuf {
    let test = std::env::current_exe().expect("the test executable has a path");
    let dir = test.ancestors().nth(2).expect("cargo puts tests in TARGET/PROFILE/deps").to_owned();
    let profile = match dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    run_script("build-ui", &[]);
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet"])
        .args(PACKAGES.iter().flat_map(|package| ["-p", package]))
        .args(["--profile", profile, "--target-dir"])
        .arg(dir.parent().expect("the profile's folder lies in the target folder"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .status()
        .expect("cargo runs");
    assert!(status.success(), "build the executables: {status}");
    run_script("build-java", &[&dir]);
    dir
}

/// Runs one of the repository's scripts that build something.
fn run_script(name: &str, arguments: &[&Path]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(name);
    let status = Command::new(script).args(arguments).status().expect("the script is there");
    assert!(status.success(), "{name}: {status}");
}
