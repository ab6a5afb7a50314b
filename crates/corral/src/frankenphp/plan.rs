//! The plan that a Caddyfile describes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use corral_manifest::caddyfile::{self, Caddyfile, CaddyfileError, Directive};

use super::globals::{self, Globals};
use super::site::{self, PhpSite};
use super::words::{BlocksResult, refuse};

/// All of it.
#[derive(Debug)]
pub(super) struct CaddyfilePlan {
    pub(super) globals: Globals,
    pub(super) site: PhpSite,
}

impl CaddyfilePlan {
    /// Reads a file, in which placeholders stand for variables of the environment.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read(path).with_context(|| format!("read \"{}\"", path.display()))?;
        let name = path.file_name().unwrap_or(path.as_os_str()).display();
        Self::parse(&String::from_utf8_lossy(&text), &|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        })
        .map_err(|error| anyhow!("{name}:{error}"))
    }

    pub(super) fn parse(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> BlocksResult<Self> {
        let file = caddyfile::read(text, variable)?;
        understand(&file.directives).map_err(|error| with_unset(error, &file))
    }

    /// The folder of what browsers may reach.
    pub(super) fn root(&self) -> &Path {
        &self.site.root
    }
}

fn understand(directives: &[Directive]) -> BlocksResult<CaddyfilePlan> {
    let (globals, sites) = match directives {
        [first, rest @ ..] if first.words.is_empty() => (globals::read(first)?, rest),
        all => (Globals::default(), all),
    };
    match sites {
        [] => Err(CaddyfileError { line: 1, message: "there is no site in this file".to_owned() }),
        [only] => {
            let site = site::read(only, globals.worker.as_ref())?;
            Ok(CaddyfilePlan { globals, site })
        }
        [_, second, ..] => {
            refuse(second, format!("\"{}\" is a second site; one is known here", second.words.join(" ")))
        }
    }
}

/// Names the placeholders of the line that stood for nothing: one of them may be the reason.
fn with_unset(mut error: CaddyfileError, file: &Caddyfile) -> CaddyfileError {
    let unset: Vec<_> =
        file.unset.iter().filter(|(line, _)| *line == error.line).map(|(_, name)| name.as_str()).collect();
    if !unset.is_empty() {
        error.message += &format!(" (not in the environment: {})", unset.join(", "));
    }
    error
}

/// A path as the process sees it that reads the file.
pub(super) fn absolute(path: &str) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

#[cfg(test)]
mod tests;
