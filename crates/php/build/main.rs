//! Compiles the C shim against the PHP that `php-config` describes, and links its embed library.
//!
//! `CORRAL_PHP_CONFIG` names another `php-config`, for a host of another PHP version.

mod php_config;
mod soname;

use std::path::{Path, PathBuf};
use std::{env, fs};

use self::php_config::{Library, PhpConfig};

const SOURCES: [&str; 20] = [
    "corral_filter.c",
    "corral_functions.c",
    "corral_guard.c",
    "corral_guard_growth.c",
    "corral_guard_handlers.c",
    "corral_guard_process.c",
    "corral_guard_seed.c",
    "corral_guard_settings.c",
    "corral_guard_streams.c",
    "corral_guard_transactions.c",
    "corral_guard_values.c",
    "corral_guard_wrappers.c",
    "corral_module.c",
    "corral_process.c",
    "corral_request.c",
    "corral_sapi.c",
    "corral_trace.c",
    "corral_turn.c",
    "corral_variables.c",
    "corral_worker.c",
];

const HOW_TO_GET_PHP: &str = "corral-php needs PHP's headers and embed library. On Debian and Ubuntu: \
     apt-get install php-dev libphp-embed. For a PHP elsewhere, \
     built with --enable-embed, set CORRAL_PHP_CONFIG to its php-config.";

fn main() {
    println!("cargo::rerun-if-env-changed=CORRAL_PHP_CONFIG");
    println!("cargo::rerun-if-changed=shim");
    if let Err(problem) = build() {
        println!("cargo::error={problem}. {HOW_TO_GET_PHP}");
    }
}

fn build() -> Result<(), String> {
    let php = PhpConfig::find()?;
    let folders = php.include_folders()?;
    // dpkg keeps the times of files, but a folder's says that something was put there.
    for path in folders.iter().cloned().chain(php.path()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    compile(&folders);
    link(&php.library()?)
}

const LINKED: &str = "linked_php";

/// Where the loader looks for libraries by itself.
const USUAL_FOLDERS: [&str; 4] = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"];

fn link(library: &Library) -> Result<(), String> {
    let file = library.file()?;
    let path = file.to_str().ok_or_else(|| format!("{} has a strange name", file.display()))?;
    println!("cargo::rerun-if-changed={path}");
    println!("cargo::rustc-env=CORRAL_PHP_LIBRARY={path}");
    let (folder, name) = under_its_own_name(&file)?.unwrap_or((library.folder.clone(), library.name.clone()));
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=dylib={name}");
    if !USUAL_FOLDERS.iter().any(|usual| library.folder == Path::new(usual)) {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", library.folder.display());
    }
    Ok(())
}

/// The folder and the name of a copy that calls itself as the file is called, where that has the version. The copy's
/// file has another name: Cargo has the loader look into this folder, where it must not find the library.
fn under_its_own_name(file: &Path) -> Result<Option<(PathBuf, String)>, String> {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if name == "libphp.so" {
        return Ok(None);
    }
    let text = fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let Some(renamed) = soname::renamed(text, name) else { return Ok(None) };
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let copy = folder.join(format!("lib{LINKED}.so"));
    fs::write(&copy, renamed).map_err(|error| format!("cannot write {}: {error}", copy.display()))?;
    Ok(Some((folder, LINKED.to_owned())))
}

fn compile(include_folders: &[PathBuf]) {
    let mut shim = cc::Build::new();
    for source in SOURCES {
        shim.file(Path::new("shim").join(source));
    }
    for folder in include_folders {
        // As system headers: PHP's own do not pass -Wextra.
        shim.flag("-isystem").flag(folder.to_str().expect("php-config printed it as UTF-8"));
    }
    if declares(include_folders, "main/php_main.h", "php_child_init") {
        shim.define("CORRAL_HAVE_PHP_CHILD_INIT", None);
    }
    if include_folders.iter().any(|folder| folder.join("ext/session/php_session.h").is_file()) {
        shim.define("CORRAL_HAVE_SESSION", None);
    }
    if include_folders.iter().any(|folder| folder.join("ext/mysqli/php_mysqli_structs.h").is_file()) {
        shim.define("CORRAL_HAVE_MYSQLI", None);
    }
    shim.include("../embed/include");
    println!("cargo::rerun-if-changed=../embed/include");
    shim.std("gnu11").warnings(true).extra_warnings(true).flag("-Wno-unused-parameter");
    // A Rust frame between two C frames of ours must be found by unwinders and profilers.
    shim.flag("-fno-omit-frame-pointer").compile("corral_sapi");
}

/// Releases add functions in the middle of a branch, so that the version does not tell.
fn declares(include_folders: &[PathBuf], header: &str, name: &str) -> bool {
    let mut texts = include_folders.iter().filter_map(|folder| fs::read_to_string(folder.join(header)).ok());
    texts.any(|text| text.contains(name))
}
