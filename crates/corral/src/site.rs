//! Looks at a folder and says what kind of site it is. Reads names, and composer.json, package.json,
//! go.mod and .htaccess.

mod component;
pub(crate) mod document;
mod go;
mod java;
mod python;
mod script;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use self::go::Go;
pub(crate) use self::python::Python;
pub(crate) use self::script::Script;

/// A site that can be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    /// Folder that holds what browsers may reach; absolute.
    pub(crate) root: PathBuf,
    pub(crate) kind: Kind,
}

/// How a site wants its requests handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `index.php` answers every request that is not for a file or for another script.
    FrontController {
        /// Name of the software, if it is known.
        software: Option<&'static str>,
        /// The paths that belong to scripts.
        scripts: Scripts,
    },
    /// Each PHP script answers for itself.
    Scripts,
    /// A program that serves HTTP itself.
    Program {
        /// How the shell starts it.
        start: String,
        /// It has NGINX Unit's package, or Corral's of that name.
        for_unit: bool,
    },
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
    Script(Script),
    /// A component of WebAssembly answers every request.
    Component(PathBuf),
    /// No scripts at all.
    Static,
}

/// Which paths belong to scripts in a site with a front controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scripts {
    /// These: scripts by their names, folders with an `index.php` of their own with a slash at the
    /// end. Any other path that looks like a script is the front controller's.
    Listed(Vec<String>),
    /// Every path that looks like a script, for software that is extended while it runs; and these
    /// folders.
    Any(Vec<String>),
}

/// Why a path cannot be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SiteError {
    #[error("\"{}\" does not exist; name the folder of a site", .0.display())]
    Missing(PathBuf),
    #[error("\"{}\" is neither a folder nor a component of WebAssembly nor an archive of Java; name the folder that the file is in", .0.display())]
    NotFolder(PathBuf),
    #[error("\"{}\" is empty; put a site into it", .0.display())]
    Empty(PathBuf),
    #[error("the folder \"{}\" cannot be read ({reason}); run this as a user who may read it", path.display())]
    Unreadable { path: PathBuf, reason: io::ErrorKind },
}

/// Finds out what is in a folder.
pub(crate) fn inspect(path: &Path) -> Result<Site, SiteError> {
    let unreadable = |error: io::Error| SiteError::Unreadable { path: path.to_owned(), reason: error.kind() };
    let path = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SiteError::Missing(path.to_owned()));
        }
        found => found.map_err(unreadable)?,
    };
    if component::is_component(&path) {
        let root = path.parent().unwrap_or(Path::new("/")).to_owned();
        return Ok(Site { root, kind: Kind::Component(path) });
    }
    if !path.is_dir() {
        return match (java::find(&path), path.parent()) {
            (Some(webapp), Some(folder)) => Ok(Site { root: folder.to_owned(), kind: Kind::Java { webapp } }),
            _ => Err(SiteError::NotFolder(path)),
        };
    }
    if fs::read_dir(&path).map_err(unreadable)?.next().is_none() {
        return Err(SiteError::Empty(path));
    }
    let public = PUBLIC_FOLDERS.iter().map(|name| path.join(name)).find(|folder| has(folder, "index.php"));
    let root = public.unwrap_or_else(|| path.clone());
    let kind = match kind(&path, &root) {
        Kind::Static => without_scripts(&path),
        scripts => scripts,
    };
    Ok(Site { root, kind })
}

/// What a folder is that has neither PHP nor a program with a start script in it.
fn without_scripts(project: &Path) -> Kind {
    let go = || go::find(project).map(Kind::Go);
    let java = || java::find(project).map(|webapp| Kind::Java { webapp });
    let component = || component::find(project).map(Kind::Component);
    let script = || script::find(project).map(Kind::Script);
    let python = python::find(project).map(Kind::Python);
    let found = python.or_else(script).or_else(go).or_else(java).or_else(component);
    found.unwrap_or(Kind::Static)
}

/// Where frameworks keep what browsers may reach.
const PUBLIC_FOLDERS: [&str; 3] = ["public", "web", "webroot"];

fn kind(project: &Path, root: &Path) -> Kind {
    let mut found = Found::default();
    found.search(root, "/", SEARCH_DEPTH);
    let software = software(project);
    if has(root, "index.php") && (root != project || software.is_some() || is_made_for_all(root)) {
        let is_extended = root == project && found.scripts.len() > 1;
        let scripts = if is_extended || found.scripts.len() > MOST_LISTED {
            Scripts::Any(found.folders)
        } else {
            Scripts::Listed([found.scripts, found.folders].concat())
        };
        return Kind::FrontController { software, scripts };
    }
    match start_script(project) {
        Some((start, for_unit)) => Kind::Program { start, for_unit },
        None if found.scripts.is_empty() => Kind::Static,
        None => Kind::Scripts,
    }
}

/// What package.json says about starting, and whether it has Unit's package.
fn start_script(project: &Path) -> Option<(String, bool)> {
    let package = fs::read(project.join("package.json")).ok()?;
    let package: serde_json::Value = serde_json::from_slice(&package).ok()?;
    let start = package["scripts"]["start"].as_str()?.trim();
    let for_unit = !package["dependencies"]["unit-http"].is_null();
    (!start.is_empty()).then(|| (start.to_owned(), for_unit))
}

/// A site with more scripts than this is not listed.
const MOST_LISTED: usize = 100;

fn has(folder: &Path, name: &str) -> bool {
    folder.join(name).is_file()
}

/// Recognises software by files that nothing else has, then by what composer.json asks for.
fn software(project: &Path) -> Option<&'static str> {
    const FILES: [(&str, &str); 5] = [
        ("wp-load.php", "WordPress"),
        ("artisan", "Laravel"),
        ("symfony.lock", "Symfony"),
        ("core/lib/Drupal.php", "Drupal"),
        ("web/core/lib/Drupal.php", "Drupal"),
    ];
    const PACKAGES: [(&str, &str); 8] = [
        ("laravel/lumen-framework", "Lumen"),
        ("laravel/framework", "Laravel"),
        ("symfony/framework-bundle", "Symfony"),
        ("slim/slim", "Slim"),
        ("codeigniter4/framework", "CodeIgniter"),
        ("cakephp/cakephp", "CakePHP"),
        ("yiisoft/yii2", "Yii"),
        ("mezzio/mezzio", "Mezzio"),
    ];
    let composer = fs::read_to_string(project.join("composer.json")).unwrap_or_default();
    let asked_for = |package: &str| composer.contains(&format!("\"{package}\""));
    let by_package = PACKAGES.iter().find(|(package, _)| asked_for(package));
    // Lumen has an `artisan` too.
    let by_file = FILES.iter().find(|(file, _)| has(project, file));
    by_package.or(by_file).map(|(_, name)| *name)
}

/// Whether `index.php` was made to answer for every path: a rule for Apache sends it all of them, or
/// it looks at the path itself.
fn is_made_for_all(root: &Path) -> bool {
    let read =
        |name: &str| String::from_utf8_lossy(&fs::read(root.join(name)).unwrap_or_default()).into_owned();
    let is_rule = |line: &str| line.starts_with("RewriteRule") || line.starts_with("FallbackResource");
    let rules = read(".htaccess");
    let index = read("index.php");
    rules.lines().map(str::trim_start).any(|line| is_rule(line) && line.contains("index.php"))
        || ["REQUEST_URI", "PATH_INFO"].iter().any(|name| index.contains(name))
}

/// What a site has scripts in.
#[derive(Debug, Default)]
struct Found {
    /// Paths such as `/admin/login.php`, in the order of their names.
    scripts: Vec<String>,
    /// Paths such as `/wp-admin/` of folders below the root that have an `index.php`.
    folders: Vec<String>,
}

/// How deep scripts are looked for below the root.
const SEARCH_DEPTH: usize = 3;

impl Found {
    fn search(&mut self, folder: &Path, uri: &str, depth: usize) {
        let entries = entries(folder);
        for path in entries.iter().filter(|path| is_script(path)) {
            self.scripts.extend(plain_name(path).map(|name| format!("{uri}{name}")));
        }
        if uri != "/" && has(folder, "index.php") {
            self.folders.push(uri.to_owned());
        }
        if depth > 0 {
            for path in subfolders(&entries) {
                if let Some(name) = plain_name(path) {
                    self.search(path, &format!("{uri}{name}/"), depth - 1);
                }
            }
        }
    }
}

fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("php")) && path.is_file()
}

/// A name without anything that means something else in a pattern.
fn plain_name(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    (!name.contains(|c: char| c.is_control() || "*!~%?#".contains(c))).then_some(name)
}

/// What is in a folder, sorted; nothing for one that cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// The folders among these that belong to the site itself; links are not followed.
fn subfolders(entries: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    entries.iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_folder = path.symlink_metadata().is_ok_and(|data| data.is_dir());
        is_folder && !name.starts_with('.') && name != "vendor" && name != "node_modules"
    })
}

impl Site {
    /// The language whose module is needed, as in the `type` of an application.
    pub(crate) fn language(&self) -> Option<&'static str> {
        match self.kind {
            Kind::FrontController { .. } | Kind::Scripts => Some("php"),
            Kind::Python(_) => Some("python"),
            Kind::Script(ref script) => Some(script.language),
            Kind::Component(_) => Some("wasm-wasi-component"),
            Kind::Java { .. } => Some("java"),
            Kind::Program { .. } | Kind::Go(_) | Kind::Static => None,
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = self.root.display();
        match &self.kind {
            Kind::FrontController { software: Some(name), .. } => write!(f, "{name} in {root}"),
            Kind::FrontController { software: None, .. } => {
                write!(f, "PHP site with a front controller, {}", self.root.join("index.php").display())
            }
            Kind::Scripts => write!(f, "PHP scripts in {root}"),
            Kind::Program { start, .. } => write!(f, "program in {root}, started by \"{start}\""),
            Kind::Go(_) => write!(f, "Go program in {root}"),
            Kind::Java { webapp } => write!(f, "Java web application {}", webapp.display()),
            Kind::Python(python) => {
                let software = python.software.unwrap_or("Python application");
                write!(f, "{software} in {root}, {}:{}", python.module, python.callable)
            }
            Kind::Script(script) => {
                write!(f, "{} application {}", script.interface, script.file.display())
            }
            Kind::Component(file) => write!(f, "component {}", file.display()),
            Kind::Static => write!(f, "static files in {root}"),
        }
    }
}

#[cfg(test)]
mod tests;
