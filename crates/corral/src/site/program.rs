//! Recognises programs that serve HTTP themselves, by what says how they are started.

use std::path::Path;

use serde_json::Value;

use super::folder::{MOST_SOURCES, entries, has, read, read_text};

/// A program that serves HTTP itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramApp {
    /// How the shell starts it.
    pub(crate) start: String,
    /// Whether the program has NGINX Unit's package, or Corral's of that name.
    pub(crate) for_unit: bool,
}

impl ProgramApp {
    pub(super) fn new(start: &str) -> Self {
        Self { start: start.to_owned(), for_unit: false }
    }
}

/// The content of package.json, if it can be read.
pub(super) fn package(project: &Path) -> Option<Result<Value, serde_json::Error>> {
    let text = read(&project.join(PACKAGE))?;
    Some(serde_json::from_slice(&text))
}

pub(super) const PACKAGE: &str = "package.json";

/// The `start` script of package.json.
pub(super) fn start_script(project: &Path) -> Option<ProgramApp> {
    let package = package(project)?.ok()?;
    let start = package["scripts"]["start"].as_str()?.trim();
    (!start.is_empty()).then(|| ProgramApp { start: start.to_owned(), for_unit: is_for_unit(&package) })
}

fn is_for_unit(package: &Value) -> bool {
    !package["dependencies"]["unit-http"].is_null()
}

/// A program that can be started although nothing has been written for that: the file that `npm start` runs without a
/// script, other files for Node.js that listen, and Mojolicious' own programs.
pub(super) fn guess(project: &Path) -> Option<ProgramApp> {
    node(project).or_else(|| mojolicious(project))
}

fn node(project: &Path) -> Option<ProgramApp> {
    // A package that cannot be read is told, not passed over.
    let package = package(project).transpose().ok()?.unwrap_or_default();
    let main = package["main"].as_str().into_iter();
    let file = main.chain(NODE_FILES).find(|name| is_plain(name) && listens(&project.join(name)))?;
    Some(ProgramApp { start: format!("node {file}"), for_unit: is_for_unit(&package) })
}

/// Names that people give to what serves.
const NODE_FILES: [&str; 6] = ["server.js", "server.mjs", "app.js", "app.mjs", "index.js", "index.mjs"];

/// Whether a script is a server's: what browsers load never listens.
fn listens(script: &Path) -> bool {
    read_text(script).contains(".listen(")
}

fn mojolicious(project: &Path) -> Option<ProgramApp> {
    let in_script = entries(&project.join("script"));
    let uses = |path: &Path| {
        let text = read_text(path);
        ["use Mojolicious::Lite", "Mojolicious::Commands"].iter().any(|words| text.contains(words))
    };
    let is_perl = |path: &Path| path.extension().is_none_or(|extension| extension == "pl") && path.is_file();
    let files = entries(project).into_iter().chain(in_script);
    let file = files.filter(|path| is_perl(path)).take(MOST_SOURCES).find(|path| uses(path))?;
    let name = file.strip_prefix(project).ok()?.to_str().filter(|name| is_plain(name))?;
    Some(ProgramApp::new(&format!("perl {name} daemon -l \"http://127.0.0.1:$PORT\"")))
}

/// The `web` line of a Procfile: one name and one command a line. Servers for PHP of Heroku's are what this is in the
/// place of.
pub(super) fn of_procfile(project: &Path) -> Option<ProgramApp> {
    let text = read_text(&project.join(PROCFILE));
    let command = text.lines().find_map(|line| line.trim_start().strip_prefix("web:"))?.trim();
    (!command.is_empty() && !command.contains("heroku-php-")).then(|| ProgramApp::new(command))
}

pub(super) const PROCFILE: &str = "Procfile";

/// Whether a shell takes a name for what it is.
fn is_plain(name: &str) -> bool {
    !name.starts_with('-') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte))
}

/// Where the tools of Node.js put what they build for browsers.
pub(super) fn built_folder(project: &Path) -> Option<&'static str> {
    BUILT_FOLDERS.into_iter().find(|name| has(&project.join(name), "index.html"))
}

const BUILT_FOLDERS: [&str; 5] = ["dist", "build", "out", "_site", "public"];
