//! Compiles the C shim against the PHP that `php-config` describes, and links its embed library.
//!
//! `CORRAL_PHP_CONFIG` names another `php-config`, for a host of another PHP version.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

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
     apt-get install php8.2-dev libphp8.2-embed (or another version of both). For a PHP elsewhere, \
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
    compile(&folders);
    let (folder, library) = php.embed_library()?;
    println!("cargo::rustc-env=CORRAL_PHP_LIBRARY={}", real_path(&folder, &library)?);
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=dylib={library}");
    Ok(())
}

/// The file behind the symbolic links, by which a PHP of another version is recognised.
fn real_path(folder: &Path, library: &str) -> Result<String, String> {
    let path = folder.join(format!("lib{library}.so"));
    let real = path.canonicalize().map_err(|error| format!("cannot find {}: {error}", path.display()))?;
    real.to_str().map(str::to_owned).ok_or_else(|| format!("{} has a strange name", real.display()))
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

struct PhpConfig {
    program: String,
}

impl PhpConfig {
    fn find() -> Result<Self, String> {
        if let Ok(program) = env::var("CORRAL_PHP_CONFIG") {
            return Ok(Self { program });
        }
        let usual = ["php-config8.2", "php-config"].map(|program| Self { program: program.to_owned() });
        let found = usual.into_iter().find(|candidate| candidate.ask("--vernum").is_ok());
        found.ok_or_else(|| "no php-config was found".to_owned())
    }

    fn ask(&self, question: &str) -> Result<String, String> {
        let output = Command::new(&self.program).arg(question).output();
        let output = output.map_err(|error| format!("cannot run {}: {error}", self.program))?;
        if !output.status.success() {
            return Err(format!("{} {question} failed", self.program));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn include_folders(&self) -> Result<Vec<PathBuf>, String> {
        let flags = self.ask("--includes")?;
        let folders: Vec<_> =
            flags.split_whitespace().filter_map(|flag| flag.strip_prefix("-I")).map(PathBuf::from).collect();
        if folders.iter().any(|folder| folder.join("main/SAPI.h").is_file()) {
            return Ok(folders);
        }
        Err(format!("the headers that {} names are not installed", self.program))
    }

    /// Debian names the library after the version, PHP's own build does not.
    fn embed_library(&self) -> Result<(PathBuf, String), String> {
        let version = self.ask("--version")?;
        let branch: Vec<&str> = version.splitn(3, '.').take(2).collect();
        let prefix = PathBuf::from(self.ask("--prefix")?);
        for name in [format!("php{}", branch.join(".")), "php".to_owned()] {
            for folder in [prefix.join("lib"), prefix.join("lib64")] {
                if folder.join(format!("lib{name}.so")).is_file() {
                    return Ok((folder, name));
                }
            }
        }
        Err(format!("the embed library of PHP {version} is not below {}", prefix.display()))
    }
}
