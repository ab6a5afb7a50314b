//! Asks `php-config` where its PHP is.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct PhpConfig {
    program: String,
}

/// The embed library.
pub(crate) struct Library {
    pub(crate) folder: PathBuf,
    /// As the link editor wants it: `php8.4` for libphp8.4.so.
    pub(crate) name: String,
}

impl Library {
    /// The file behind the symbolic links.
    pub(crate) fn file(&self) -> Result<PathBuf, String> {
        let path = self.folder.join(format!("lib{}.so", self.name));
        path.canonicalize().map_err(|error| format!("cannot find {}: {error}", path.display()))
    }
}

impl PhpConfig {
    /// The one that `CORRAL_PHP_CONFIG` names, or else the first with headers and a library: the system's usual one,
    /// then the newest.
    pub(crate) fn find() -> Result<Self, String> {
        if let Ok(program) = env::var("CORRAL_PHP_CONFIG") {
            return Ok(Self { program });
        }
        let versioned = (1..=9).rev().map(|minor| format!("php-config8.{minor}"));
        let named = std::iter::once("php-config".to_owned()).chain(versioned).map(|program| Self { program });
        let there: Vec<_> = named.filter(|one| one.ask("--vernum").is_ok()).collect();
        let complete = there.iter().position(|one| one.include_folders().is_ok() && one.library().is_ok());
        // Where none is complete, the first says what it lacks.
        there.into_iter().nth(complete.unwrap_or(0)).ok_or_else(|| "no php-config was found".to_owned())
    }

    fn ask(&self, question: &str) -> Result<String, String> {
        let output = Command::new(&self.program).arg(question).output();
        let output = output.map_err(|error| format!("cannot run {}: {error}", self.program))?;
        if !output.status.success() {
            return Err(format!("{} {question} failed", self.program));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    pub(crate) fn include_folders(&self) -> Result<Vec<PathBuf>, String> {
        let flags = self.ask("--includes")?;
        let folders: Vec<_> =
            flags.split_whitespace().filter_map(|flag| flag.strip_prefix("-I")).map(PathBuf::from).collect();
        if folders.iter().any(|folder| folder.join("main/SAPI.h").is_file()) {
            return Ok(folders);
        }
        Err(format!("the headers that {} names are not installed", self.program))
    }

    /// Debian names the library after the version, PHP's own build does not.
    pub(crate) fn library(&self) -> Result<Library, String> {
        let version = self.ask("--version")?;
        let branch: Vec<&str> = version.splitn(3, '.').take(2).collect();
        let prefix = PathBuf::from(self.ask("--prefix")?);
        for name in [format!("php{}", branch.join(".")), "php".to_owned()] {
            for folder in [prefix.join("lib"), prefix.join("lib64")] {
                if folder.join(format!("lib{name}.so")).is_file() {
                    return Ok(Library { folder, name });
                }
            }
        }
        Err(format!("the embed library of PHP {version} is not below {}", prefix.display()))
    }

    /// The program itself, where it was named by its path or is in a folder of `PATH`.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        if self.program.contains('/') {
            return Some(PathBuf::from(&self.program));
        }
        let folders = env::var_os("PATH")?;
        env::split_paths(&folders).map(|folder| folder.join(&self.program)).find(|path| Path::is_file(path))
    }
}
