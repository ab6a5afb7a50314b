//! Modules of Python that are in none of the folders that are searched.

use std::fs;
use std::path::{Path, PathBuf};

use corral_config::plan::{AppSpec, PythonSpec};

/// Modules that cannot be found, each with a sentence. None where it is not known which folders are searched.
pub(super) fn missing<'a>(
    app: &'a AppSpec,
    python: &'a PythonSpec,
) -> impl Iterator<Item = (&'a str, String)> {
    let own = own_folders(app, python);
    let modules = python.targets.iter().map(|target| target.module.as_str());
    modules.filter_map(move |module| {
        let own = own.as_ref()?;
        let is_there = own
            .iter()
            .chain(&installed("/usr"))
            .chain(&installed("/usr/local"))
            .any(|folder| has(folder, module));
        if is_there { None } else { Some((module, describe(module, own))) }
    })
}

fn describe(module: &str, own: &[PathBuf]) -> String {
    let shown: Vec<_> = own.iter().take(3).map(|folder| format!("\"{}\"", folder.display())).collect();
    format!("There is no module \"{module}\" in {}.", shown.join(", "))
}

/// The folders that the application names. A part of them is not known where the daemon will be started.
fn own_folders(app: &AppSpec, python: &PythonSpec) -> Option<Vec<PathBuf>> {
    if app.isolation.rootfs.is_some() {
        return None;
    }
    let base = app.working_directory.as_deref();
    let named = app.environment.iter().filter(|(name, _)| name == "PYTHONPATH");
    let named = named.flat_map(|(_, folders)| std::env::split_paths(folders));
    let named = python.path.iter().cloned().chain(named);
    let mut folders: Vec<_> = named.map(|path| base.map_or(path.clone(), |base| base.join(&path))).collect();
    if folders.iter().any(|folder| !folder.is_absolute()) {
        return None;
    }
    folders.extend(base.map(Path::to_owned));
    // One that is missing is told of as such.
    folders.retain(|folder| folder.is_dir());
    let has_root = !folders.is_empty();
    let installed: Vec<_> = python.home.iter().flat_map(|home| packages(home)).collect();
    if !has_root || installed.iter().any(|folder| leads_elsewhere(folder)) {
        return None;
    }
    folders.extend(installed);
    Some(folders)
}

/// The folders of packages below one in which a Python is installed.
fn installed(prefix: &str) -> Vec<PathBuf> {
    packages(Path::new(prefix))
}

fn packages(prefix: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten();
    let is_python = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("python"))
    };
    let folders = entries.map(|entry| entry.path()).filter(is_python);
    folders.flat_map(|folder| [folder.join("site-packages"), folder.join("dist-packages"), folder]).collect()
}

/// Whether the first part of a module's name is a file or a folder there. The rest may be made when it is loaded.
fn has(folder: &Path, module: &str) -> bool {
    let first = module.split('.').next().unwrap_or(module);
    if folder.join(first).is_dir() || folder.join(format!("{first}.py")).is_file() {
        return true;
    }
    // Compiled ones have the version in their names.
    let is_compiled = |name: &str| {
        name.strip_prefix(first).is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".so"))
    };
    names(folder).any(|name| is_compiled(&name))
}

/// Whether a file of packages leads to further folders, as that of an editable installation.
fn leads_elsewhere(folder: &Path) -> bool {
    names(folder).any(|name| name.ends_with(".pth") && !HARMLESS.contains(&&*name))
}

/// Files of the tools that make environments.
const HARMLESS: [&str; 2] = ["distutils-precedence.pth", "_virtualenv.pth"];

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

#[cfg(test)]
mod tests {
    use corral_config::plan::RuntimeSpec;
    use corral_config::{Known, json, validate};

    use super::*;

    #[track_caller]
    fn check(folder: &Path, options: &str, expected: Option<&str>) {
        let options = options.replace("ROOT", folder.to_str().unwrap());
        let document = format!(r#"{{"applications": {{"a": {{"type": "python", {options}}}}}}}"#);
        let document = json::parse(document.as_bytes()).unwrap();
        let config = validate(&document, &Known::validated_elsewhere()).unwrap();
        let app = &config.applications.values()[0];
        let RuntimeSpec::Python(python) = &app.runtime else { panic!("{app:?}") };
        let found: Vec<_> = missing(app, python).map(|(module, _)| module.to_owned()).collect();
        assert_eq!(found.first().map(String::as_str), expected, "{options}");
    }

    #[test]
    fn modules_are_looked_for_where_python_does() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "wsgi.py",
            "site/wsgi.py",
            "fast.cpython-311-x86_64-linux-gnu.so",
            "venv/lib/python3.11/site-packages/lib.py",
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let check = |options: &str, expected| check(folder.path(), options, expected);
        check(r#""path": "ROOT", "module": "wsgi""#, None);
        check(r#""path": "ROOT", "module": "site.wsgi""#, None);
        check(r#""path": "ROOT", "module": "fast""#, None);
        check(r#""path": "ROOT", "module": "missing.wsgi""#, Some("missing.wsgi"));
        check(r#""path": "ROOT", "home": "ROOT/venv", "module": "lib""#, None);
        check(r#""working_directory": "ROOT", "module": "wsgi""#, None);
        check(r#""working_directory": "ROOT", "path": "site", "module": "wsgi""#, None);
        check(r#""environment": {"PYTHONPATH": "/nowhere:ROOT"}, "module": "wsgi""#, None);
        fs::write(folder.path().join("venv/lib/python3.11/site-packages/own.pth"), "/elsewhere").unwrap();
        check(r#""path": "ROOT", "home": "ROOT/venv", "module": "missing""#, None);
        // It is searched for where the daemon is started.
        check(r#""module": "missing""#, None);
        check(r#""path": "relative", "module": "missing""#, None);
    }
}
