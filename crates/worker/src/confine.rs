//! Bounds that a prototype sets itself before it loads anything of the application: files and system calls.

use std::path::{Path, PathBuf};

use anyhow::Context;
use corral_config::plan::{AppSpec, SeccompProfile};
use corral_sys::landlock::{self, Reachable};
use corral_sys::seccomp;

use crate::dependencies;
use crate::host::Language;

/// Sets them for this process and all that come from it. What the language consists of stays readable, and what
/// it needs while it loads stays writable for now.
pub(crate) fn before_loading(spec: &AppSpec, language: &Language) -> anyhow::Result<()> {
    restrict_files(spec, language, &(language.scratch)(spec))?;
    match spec.isolation.seccomp {
        Some(SeccompProfile::Default) => {
            seccomp::refuse_dangerous_calls().context("set the \"seccomp\" profile \"default\"")
        }
        None => Ok(()),
    }
}

/// Takes back what was needed for loading.
pub(crate) fn after_loading(spec: &AppSpec, language: &Language) -> anyhow::Result<()> {
    restrict_files(spec, language, &[])
}

fn restrict_files(spec: &AppSpec, language: &Language, scratch: &[PathBuf]) -> anyhow::Result<()> {
    let Some(access) = &spec.isolation.filesystem else { return Ok(()) };
    let own = spec.runtime.files().into_iter().map(Path::to_owned);
    let readable: Vec<_> = dependencies::of(language).into_iter().chain(own).collect();
    let writable: Vec<_> = scratch.iter().cloned().chain(["/dev/null".into()]).collect();
    let reachable = Reachable {
        read: &access.read,
        write: &access.write,
        read_if_present: &readable,
        write_if_present: &writable,
    };
    landlock::restrict(&reachable).context("restrict the application to its \"filesystem\"")
}
