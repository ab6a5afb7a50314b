//! Bounds that a prototype sets itself before it loads anything of the application: files and system calls.
//!
//! The prototype does this after exec: it takes no privileges, and the host's own code needs no rules.

use std::path::{Path, PathBuf};

use anyhow::Context;
use corral_config::plan::{AppSpec, SeccompProfile};
use corral_sys::landlock::{self, Reachable};
use corral_sys::seccomp;

use crate::dependencies;
use crate::language::Language;

/// Sets them for this process and all that come from it. What the language consists of stays readable, and what
/// it needs while it loads stays writable for now.
pub(crate) fn before_loading(spec: &AppSpec, language: &Language) -> anyhow::Result<()> {
    confine(spec, dependencies::of(language), (language.scratch)(spec))
}

/// Takes back what was needed for loading.
pub(crate) fn after_loading(spec: &AppSpec, language: &Language) -> anyhow::Result<()> {
    restrict_files(spec, dependencies::of(language), Vec::new())
}

/// Sets them for good. What is `readable` and `writable` stays so besides what the document names.
///
/// # Errors
/// When the kernel cannot, or what the document names is not there.
pub fn confine(spec: &AppSpec, readable: Vec<PathBuf>, writable: Vec<PathBuf>) -> anyhow::Result<()> {
    restrict_files(spec, readable, writable)?;
    match spec.isolation.seccomp {
        Some(SeccompProfile::Default) => {
            seccomp::refuse_dangerous_calls().context("set the \"seccomp\" profile \"default\"")
        }
        None => Ok(()),
    }
}

fn restrict_files(
    spec: &AppSpec,
    mut readable: Vec<PathBuf>,
    mut writable: Vec<PathBuf>,
) -> anyhow::Result<()> {
    let Some(access) = &spec.isolation.filesystem else { return Ok(()) };
    readable.extend(spec.runtime.files().into_iter().map(Path::to_owned));
    writable.push("/dev/null".into());
    let reachable = Reachable {
        read: &access.read,
        write: &access.write,
        read_if_present: &readable,
        write_if_present: &writable,
    };
    landlock::restrict(&reachable).context("restrict the application to its \"filesystem\"")
}
