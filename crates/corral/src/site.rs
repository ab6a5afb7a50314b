//! A site of `corral run`: its folder, and how its requests are handled.

pub(crate) mod background;
mod component;
mod denied;
pub(crate) mod django;
pub(crate) mod document;
mod folder;
mod go;
mod java;
mod php;
mod program;
mod python;
pub(crate) mod recognise;
mod script;
mod shell;
mod sources;
mod static_files;
mod worker_script;

use std::fmt;
use std::path::{Path, PathBuf};

pub(crate) use self::denied::Denied;
use self::folder::entries;
pub(crate) use self::go::Go;
pub(crate) use self::php::ScriptPaths;
pub(crate) use self::program::ProgramApp;
pub(crate) use self::python::Python;
pub(crate) use self::script::ScriptApp;
pub(crate) use self::worker_script::{InMemory, WorkerScript};

/// A site that can be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    /// Folder that holds what browsers may reach; absolute.
    pub(crate) root: PathBuf,
    pub(crate) kind: SiteKind,
    /// The root is the whole project: what it is made of lies beside what browsers may reach.
    pub(crate) has_sources: bool,
    /// Whether an application of PHP stays in memory.
    pub(crate) in_memory: InMemory,
}

/// How a site wants its requests handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SiteKind {
    /// `index.php` answers every request that is not for a file or for another script.
    FrontController {
        /// Name of the software, if it is known.
        software: Option<&'static str>,
        /// The paths that belong to scripts.
        scripts: ScriptPaths,
    },
    /// Each PHP script answers for itself.
    Scripts,
    /// A program that serves HTTP itself.
    Program(ProgramApp),
    /// A program in Go, which has to be compiled first.
    Go(Go),
    /// A web application in Java.
    Java {
        /// An archive or a folder.
        webapp: PathBuf,
    },
    /// An application in Python answers every request.
    Python(Python),
    /// An application in Ruby or Perl answers every request that is not for a file.
    Script(ScriptApp),
    /// A component of WebAssembly answers every request.
    Component(PathBuf),
    /// Files, less those that are sources by their names.
    Static,
    /// Files as they are, because the user says so.
    Files,
}

impl Site {
    /// One whose root is the project's folder.
    fn whole(root: &Path, kind: SiteKind) -> Self {
        Self { root: root.to_owned(), kind, has_sources: true, in_memory: InMemory::No }
    }

    /// Code that has to be loaded anew when it has changed. PHP looks at its scripts by itself, unless one stays in
    /// memory.
    pub(crate) fn code(&self) -> Vec<PathBuf> {
        if let InMemory::By(worker) = &self.in_memory {
            return vec![worker.project.clone()];
        }
        match &self.kind {
            SiteKind::Python(_) | SiteKind::Script(_) | SiteKind::Program(_) | SiteKind::Go(_) => {
                vec![self.root.clone()]
            }
            SiteKind::Java { webapp } => vec![webapp.clone()],
            SiteKind::Component(file) => vec![file.clone()],
            SiteKind::FrontController { .. } | SiteKind::Scripts | SiteKind::Static | SiteKind::Files => {
                Vec::new()
            }
        }
    }

    /// Denials of its `.htaccess` files, where files are served by rules of this server.
    pub(crate) fn denied(&self) -> Denied {
        match self.kind {
            SiteKind::Static | SiteKind::Scripts | SiteKind::FrontController { .. } => {
                denied::look(&self.root)
            }
            _ => Denied::default(),
        }
    }

    /// Names at the top of the root that are not served, although the user may expect them to be.
    pub(crate) fn private_entries(&self) -> Vec<String> {
        if !matches!(self.kind, SiteKind::Static | SiteKind::Scripts | SiteKind::FrontController { .. }) {
            return Vec::new();
        }
        let name = |path: &PathBuf| {
            let name = path.file_name()?.to_str()?.to_owned();
            let is_packages = self.has_sources && name == "vendor" && path.is_dir();
            // Hidden files are not expected, and scripts answer.
            let is_script = self.language() == Some("php") && name.ends_with(".php");
            let is_private = !name.starts_with('.') && !is_script && document::is_private(&name);
            (is_packages || is_private).then_some(name)
        };
        entries(&self.root).iter().filter_map(name).collect()
    }

    /// The language whose module is needed, as in the `type` of an application.
    pub(crate) fn language(&self) -> Option<&'static str> {
        match self.kind {
            SiteKind::FrontController { .. } | SiteKind::Scripts => Some("php"),
            SiteKind::Python(_) => Some("python"),
            SiteKind::Script(ref script) => Some(script.language),
            SiteKind::Component(_) => Some("wasm-wasi-component"),
            SiteKind::Java { .. } => Some("java"),
            SiteKind::Program(_) | SiteKind::Go(_) | SiteKind::Static | SiteKind::Files => None,
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = self.root.display();
        match &self.kind {
            SiteKind::FrontController { software: Some(name), .. } => write!(f, "{name} in {root}"),
            SiteKind::FrontController { software: None, .. } => {
                write!(f, "PHP site with a front controller, {}", self.root.join("index.php").display())
            }
            SiteKind::Scripts => write!(f, "PHP scripts in {root}"),
            SiteKind::Program(program) => write!(f, "program in {root}, started by \"{}\"", program.start),
            SiteKind::Go(_) => write!(f, "Go program in {root}"),
            SiteKind::Java { webapp } => write!(f, "Java web application {}", webapp.display()),
            SiteKind::Python(python) => {
                let software = python.software.unwrap_or("Python application");
                write!(f, "{software} in {root}, {}:{}", python.module, python.callable)
            }
            SiteKind::Script(script) => {
                write!(f, "{} application {}", script.interface, script.file.display())
            }
            SiteKind::Component(file) => write!(f, "component {}", file.display()),
            SiteKind::Static | SiteKind::Files => write!(f, "static files in {root}"),
        }
    }
}
