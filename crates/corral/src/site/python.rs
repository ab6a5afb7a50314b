//! Recognises projects in Python: where the application is, what it is called, and its virtual environment.

use std::fs;
use std::path::{Path, PathBuf};

use super::{entries, has, subfolders};

/// The application of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Python {
    /// Name of the software, if it is known.
    pub(crate) software: Option<&'static str>,
    pub(crate) module: String,
    pub(crate) callable: String,
    /// The callable makes the application.
    pub(crate) factory: bool,
    /// The virtual environment in the project's folder.
    pub(crate) home: Option<PathBuf>,
    /// There are files that the server can send by itself.
    pub(crate) has_static: bool,
}

/// Modules in which people keep what a server calls, and names that they give to it.
const MODULES: [&str; 4] = ["wsgi", "app", "application", "main"];
const CALLABLES: [&str; 2] = ["application", "app"];
const FACTORIES: [&str; 2] = ["create_app", "make_app"];
const ENVIRONMENTS: [&str; 3] = [".venv", "venv", "env"];

/// Looks for an application in a folder.
pub(crate) fn find(project: &Path) -> Option<Python> {
    let (software, module) = match django(project) {
        Some(module) => (Some("Django"), module),
        None => (None, MODULES.iter().find(|name| entry(project, name).is_some())?.to_string()),
    };
    let (callable, factory) = entry(project, &module.replace('.', "/"))?;
    let environments = ENVIRONMENTS.iter().map(|name| project.join(name));
    Some(Python {
        software,
        module,
        callable: callable.to_owned(),
        factory,
        home: { environments }.find(|folder| has(folder, "pyvenv.cfg")),
        has_static: project.join("static").is_dir(),
    })
}

/// The module that `django-admin startproject` makes for servers.
fn django(project: &Path) -> Option<String> {
    if !has(project, "manage.py") {
        return None;
    }
    let entries = entries(project);
    let folder = { subfolders(&entries) }.find(|folder| has(folder, "wsgi.py"))?;
    Some(format!("{}.wsgi", folder.file_name()?.to_str()?))
}

/// What a module has for servers, and whether that is a factory.
fn entry(project: &Path, module: &str) -> Option<(&'static str, bool)> {
    let text = fs::read(project.join(format!("{module}.py"))).ok()?;
    let text = String::from_utf8_lossy(&text);
    let defines = |name: &&&str| text.lines().any(|line| is_definition(line, name));
    let callable = CALLABLES.iter().find(defines).map(|name| (*name, false));
    callable.or_else(|| FACTORIES.iter().find(defines).map(|name| (*name, true)))
}

/// Whether a line of a module, one that is not indented, gives a meaning to a name.
fn is_definition(line: &str, name: &str) -> bool {
    if let Some((_, imported)) = line.strip_prefix("from ").and_then(|line| line.split_once(" import ")) {
        // The last word of each is the name here, also behind `as`.
        return imported.split(',').any(|import| import.split_whitespace().last() == Some(name));
    }
    let after = |start: &str| line.strip_prefix(start)?.strip_prefix(name).map(str::trim_start);
    after("def ").is_some_and(|rest| rest.starts_with('('))
        || after("")
            .is_some_and(|rest| rest.starts_with('=') && !rest.starts_with("==") || rest.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes empty files, `name=content` for others, and says what is found.
    fn look(files: &[&str]) -> Option<Python> {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let (name, content) = file.split_once('=').unwrap_or((file, ""));
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        find(folder.path())
    }

    #[track_caller]
    fn check(files: &[&str], module: &str, callable: &str) {
        let found = look(files).unwrap();
        assert_eq!((found.module.as_str(), found.callable.as_str()), (module, callable));
    }

    #[test]
    fn applications_are_found_by_their_names() {
        check(&["wsgi.py=application = make()"], "wsgi", "application");
        check(&["app.py=import x\n\napp = Flask(__name__)\n"], "app", "app");
        check(&["app.py=app: Flask = Flask()"], "app", "app");
        check(&["main.py=def application(environ, start_response):"], "main", "application");
        check(&["wsgi.py=from shop import app as application"], "wsgi", "application");
        check(&["wsgi.py=from shop import db, app"], "wsgi", "app");
        check(&["app.py=app = 1", "wsgi.py=application = 1"], "wsgi", "application");
        check(&["manage.py", "a/models.py", "shop/wsgi.py=application = get()"], "shop.wsgi", "application");
    }

    #[test]
    fn factories_are_called() {
        let found = look(&["app.py=def create_app(test_config=None):\n    app = Flask()"]).unwrap();
        assert_eq!((found.callable.as_str(), found.factory), ("create_app", true));
    }

    #[test]
    fn what_is_no_application_is_left_alone() {
        for files in [
            &["app.py=print(1)"][..],
            &["app.py=    app = 1"],
            &["app.py=apples = 1\nif app == 1: pass"],
            &["tool.py=app = 1"],
            &["manage.py", "shop/settings.py"],
        ] {
            assert_eq!(look(files), None, "{files:?}");
        }
    }

    #[test]
    fn environments_and_files_are_noticed() {
        let found = look(&["app.py=app = 1", ".venv/pyvenv.cfg", "static/a.css"]).unwrap();
        assert!(found.home.unwrap().ends_with(".venv") && found.has_static);
        let found = look(&["app.py=app = 1", "venv/notes.txt"]).unwrap();
        assert_eq!((found.home, found.has_static), (None, false));
    }
}
