//! The language of a host executable.

use std::path::PathBuf;

use corral_config::plan::AppSpec;

use crate::runtime::{Image, Runtime};

/// The facts that a host executable knows of its language.
#[derive(Debug, Clone, Copy)]
pub struct Language {
    /// As in the `type` of an application.
    pub name: &'static str,
    /// The interpreter's version.
    pub version: &'static str,
    /// Whether the interpreter that the system has loaded is the one that the host was built for.
    pub check: fn() -> anyhow::Result<()>,
    /// Files and folders that it opens by itself, besides its shared libraries.
    pub files: fn() -> Vec<PathBuf>,
    /// Folders that it writes to while it loads an application, and not later.
    pub scratch: fn(&AppSpec) -> Vec<PathBuf>,
    /// Loads the interpreter alone, if copies of that can load applications.
    pub image: Option<LoadImage>,
    /// Loads an application into it.
    pub load: LoadApplication,
}

/// Loads an interpreter for the applications of one kind ([`AppSpec::image`]).
pub type LoadImage = fn(&AppSpec) -> anyhow::Result<Box<dyn Image>>;

/// Loads an application into an interpreter.
pub type LoadApplication = fn(&AppSpec) -> anyhow::Result<Box<dyn Runtime>>;
