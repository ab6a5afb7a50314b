//! Recognises projects in Python: where the application is, what it is called, and its virtual environment.

use std::path::{Path, PathBuf};

use super::folder::{MOST_SOURCES, entries, has, read_text, subfolders};
use super::shell;
use super::static_files::StaticFiles;

/// The application of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Python {
    /// Name of the software, if it is known.
    pub(crate) software: Option<&'static str>,
    pub(crate) module: String,
    pub(crate) callable: String,
    /// The callable makes the application.
    pub(crate) factory: bool,
    /// The virtual environment of the shell, or in the project's folder.
    pub(crate) home: Option<PathBuf>,
    /// The files that the server can send by itself.
    pub(crate) files: Vec<StaticFiles>,
}

/// Modules in which people keep what a server calls, and names that they give to it.
const MODULES: [&str; 8] = ["wsgi", "asgi", "app", "application", "main", "server", "api", "run"];
const CALLABLES: [&str; 2] = ["application", "app"];
const FACTORIES: [&str; 2] = ["create_app", "make_app"];

/// Classes of frameworks whose instances are applications.
const CLASSES: [&str; 10] = [
    "Flask",
    "APIFlask",
    "FastAPI",
    "Starlette",
    "Quart",
    "Bottle",
    "Litestar",
    "Sanic",
    "falcon.App",
    "falcon.asgi.App",
];

/// An application that was found.
struct FoundCallable {
    module: String,
    callable: String,
    factory: bool,
}

/// Looks for an application in a folder.
pub(super) fn find(project: &Path) -> Option<Python> {
    let django = django(project);
    let software = django.is_some().then_some("Django");
    let found = django.or_else(|| {
        in_modules(project).or_else(|| only(instances(project))).or_else(|| only(in_packages(project)))
    })?;
    let folder = project.join("static");
    Some(Python {
        software,
        module: found.module,
        callable: found.callable,
        factory: found.factory,
        home: shell::virtual_environment(project),
        files: folder
            .is_dir()
            .then(|| StaticFiles { uri: "/static/".to_owned(), folder })
            .into_iter()
            .collect(),
    })
}

/// The modules of a folder that have one of the usual names.
pub(super) fn modules(project: &Path) -> impl Iterator<Item = &'static str> {
    MODULES.into_iter().filter(|name| has(project, &format!("{name}.py")))
}

/// The module that `django-admin startproject` makes for servers: the one for ASGI where the settings name that.
fn django(project: &Path) -> Option<FoundCallable> {
    if !has(project, "manage.py") {
        return None;
    }
    let entries = entries(project);
    let prefers_asgi = |folder: &Path| read_text(&folder.join("settings.py")).contains("\nASGI_APPLICATION");
    { subfolders(&entries) }.find_map(|folder| {
        let order = if prefers_asgi(folder) { ["asgi", "wsgi"] } else { ["wsgi", "asgi"] };
        order.iter().find_map(|name| entry(folder, name)).map(|entry| entry.of(folder))?
    })
}

fn in_modules(project: &Path) -> Option<FoundCallable> {
    modules(project).find_map(|name| entry(project, name))
}

/// The instances of frameworks' classes in modules of any name.
fn instances(project: &Path) -> Vec<FoundCallable> {
    let files = entries(project).into_iter();
    let modules = files.filter(|path| path.extension().is_some_and(|extension| extension == "py"));
    let instance = |path: PathBuf| {
        let module = path.file_stem()?.to_str()?.to_owned();
        let callable = instance(&read_text(&path))?;
        Some(FoundCallable { module, callable, factory: false })
    };
    modules.take(MOST_SOURCES).filter_map(instance).collect()
}

/// The applications in the packages of a project, one in each.
fn in_packages(project: &Path) -> Vec<FoundCallable> {
    let entries = entries(project);
    let find = |folder: &PathBuf| {
        let found = in_modules(folder).or_else(|| entry(folder, "__init__"))?;
        found.of(folder)
    };
    let is_package = |folder: &&PathBuf| has(folder, "__init__.py") || known_by(project).is_some();
    subfolders(&entries).filter(|folder| !is_beside(folder)).filter(is_package).filter_map(find).collect()
}

/// The file by which a folder is known to be a project in Python.
pub(super) fn known_by(project: &Path) -> Option<&'static str> {
    const FILES: [&str; 6] =
        ["manage.py", "pyproject.toml", "requirements.txt", "Pipfile", "setup.py", "uv.lock"];
    FILES.into_iter().find(|name| has(project, name))
}

/// Whether a folder is for something else than the application itself.
fn is_beside(folder: &Path) -> bool {
    const NAMES: [&str; 7] = ["tests", "test", "docs", "doc", "examples", "example", "scripts"];
    folder.join("pyvenv.cfg").exists() || NAMES.iter().any(|name| folder.ends_with(name))
}

fn only(mut found: Vec<FoundCallable>) -> Option<FoundCallable> {
    if found.len() == 1 { found.pop() } else { None }
}

impl FoundCallable {
    /// The same, seen from above the package that it is in.
    fn of(mut self, package: &Path) -> Option<Self> {
        let name = package.file_name()?.to_str()?;
        self.module = match self.module.as_str() {
            "__init__" => name.to_owned(),
            module => format!("{name}.{module}"),
        };
        Some(self)
    }
}

/// The callable that a module has for servers, if any.
fn entry(folder: &Path, module: &str) -> Option<FoundCallable> {
    let text = read_text(&folder.join(format!("{module}.py")));
    let defines = |name: &&&str| text.lines().any(|line| is_definition(line, name));
    let found = |(callable, factory)| FoundCallable { module: module.to_owned(), callable, factory };
    let callable = CALLABLES.iter().find(defines).map(|name| (name.to_string(), false));
    let factory = || FACTORIES.iter().find(defines).map(|name| (name.to_string(), true));
    callable.or_else(|| instance(&text).map(|name| (name, false))).or_else(factory).map(found)
}

/// The name of the instance that a module makes of a framework's class.
fn instance(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        // It may be annotated.
        let name = name.split(':').next()?.trim_end();
        let is_name =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let (class, _) = value.trim_start().split_once('(')?;
        let is_class = |known: &str| class == known || class.ends_with(&format!(".{known}"));
        (is_name && CLASSES.iter().any(|known| is_class(known))).then(|| name.to_owned())
    })
}

/// Whether a line of a module, one that is not indented, gives a meaning to a name.
fn is_definition(line: &str, name: &str) -> bool {
    if let Some((_, imported)) = line.strip_prefix("from ").and_then(|line| line.split_once(" import ")) {
        // The last word of each is the name here, also behind `as`.
        return imported.split(',').any(|import| import.split_whitespace().last() == Some(name));
    }
    let after = |start: &str| line.strip_prefix(start)?.strip_prefix(name).map(str::trim_start);
    let is_call = |start: &str| after(start).is_some_and(|rest| rest.starts_with('('));
    is_call("def ")
        || is_call("async def ")
        || after("")
            .is_some_and(|rest| rest.starts_with('=') && !rest.starts_with("==") || rest.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use std::fs;

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
        assert!(found.home.unwrap().ends_with(".venv") && found.files.len() == 1);
        let found = look(&["app.py=app = 1", "venv/notes.txt"]).unwrap();
        assert_eq!((found.home, found.files), (None, vec![]));
    }
}
