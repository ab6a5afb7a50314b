//! Modules that are not found here, and are installed for another Python or in a virtual environment nearby.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyModuleNotFoundError;
use pyo3::prelude::*;

use crate::interpreter::version;

/// The place of a module that an import did not find, and the remedy. An application that has a `home` uses an
/// environment already.
pub(crate) fn advice(py: Python<'_>, error: &PyErr, home: Option<&Path>) -> Option<String> {
    if !error.is_instance_of::<PyModuleNotFoundError>(py) {
        return None;
    }
    let name: String = error.value(py).getattr("name").ok()?.extract().ok()?;
    let module = name.split('.').next().unwrap_or_default();
    let searched: Vec<String> = py.import("sys").ok()?.getattr("path").ok()?.extract().ok()?;
    let searched: Vec<_> = searched.into_iter().map(PathBuf::from).collect();
    let nearby = if home.is_none() { in_an_environment(module, &searched) } else { None };
    nearby.or_else(|| in_another_python(module, &searched))
}

/// The usual names of virtual environments beside an application.
const ENVIRONMENTS: [&str; 3] = ["venv", ".venv", "env"];

fn in_an_environment(module: &str, searched: &[PathBuf]) -> Option<String> {
    let own = env::current_dir().ok();
    let folders = searched.iter().chain(&own);
    let mut homes = folders.flat_map(|folder| ENVIRONMENTS.map(|name| folder.join(name)));
    let home = homes.find(|home| {
        home.join("pyvenv.cfg").is_file() && packages(home).iter().any(|folder| has(folder, module))
    })?;
    let home = home.display();
    Some(format!(
        "\"{module}\" is installed in the virtual environment \"{home}\", which this application does not use: \
         write \"home\": \"{home}\""
    ))
}

fn in_another_python(module: &str, searched: &[PathBuf]) -> Option<String> {
    let of_user = env::var_os("HOME").map(PathBuf::from);
    let of_pyenv = of_user.iter().flat_map(|home| entries(&home.join(".pyenv/versions")));
    let of_user = of_user.iter().map(|home| home.join(".local"));
    let prefixes = ["/usr", "/usr/local"].map(PathBuf::from).into_iter().chain(of_user).chain(of_pyenv);
    let mut folders = prefixes.flat_map(|prefix| packages(&prefix));
    let folder = folders.find(|folder| !searched.contains(folder) && has(folder, module))?;
    let own = version();
    Some(format!(
        "\"{module}\" is installed in \"{}\", where Python {own}, which runs this application, does not look: install \
         it for this Python, best in a virtual environment that \"home\" names",
        folder.display()
    ))
}

/// The folders of packages of all versions below a prefix.
fn packages(prefix: &Path) -> Vec<PathBuf> {
    let is_python = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("python3"))
    };
    let versions = entries(&prefix.join("lib")).filter(is_python);
    versions.flat_map(|folder| ["site-packages", "dist-packages"].map(|name| folder.join(name))).collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn has(folder: &Path, module: &str) -> bool {
    folder.join(module).join("__init__.py").is_file() || folder.join(format!("{module}.py")).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_beside_the_application_are_looked_into() {
        let folder = tempfile::tempdir().unwrap();
        let packages = folder.path().join(".venv/lib/python3.99/site-packages/flask");
        fs::create_dir_all(&packages).unwrap();
        fs::write(packages.join("__init__.py"), "").unwrap();
        let searched = [folder.path().to_owned()];
        assert_eq!(in_an_environment("flask", &searched), None, "it is not an environment yet");
        fs::write(folder.path().join(".venv/pyvenv.cfg"), "").unwrap();
        let found = in_an_environment("flask", &searched).unwrap();
        let home = folder.path().join(".venv");
        assert!(found.ends_with(&format!("write \"home\": \"{}\"", home.display())), "{found}");
        assert_eq!(in_an_environment("django", &searched), None);
    }
}
