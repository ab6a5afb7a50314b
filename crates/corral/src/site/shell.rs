//! The shell that has started this: its virtual environment of Python, and where it finds programs.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::folder::has;

/// Virtual environments that people keep in the folder of a project.
const ENVIRONMENTS: [&str; 3] = [".venv", "venv", "env"];

/// The virtual environment for a project: the active one, else its own.
pub(super) fn virtual_environment(project: &Path) -> Option<PathBuf> {
    active(env::var_os("VIRTUAL_ENV"), env::var_os("PATH")).or_else(|| {
        let own = own_environment(project)?;
        Some(project.join(own))
    })
}

/// The virtual environment that `python3` is of in this shell, as by `activate` or the `PATH` of an image.
fn active(variable: Option<OsString>, path: Option<OsString>) -> Option<PathBuf> {
    let is_one = |folder: &PathBuf| folder.is_absolute() && has(folder, "pyvenv.cfg");
    let named = variable.map(PathBuf::from).filter(is_one);
    named.or_else(|| {
        let path = path?;
        let first = env::split_paths(&path).find(|folder| has(folder, "python3"))?;
        first.parent().map(Path::to_owned).filter(is_one)
    })
}

fn own_environment(project: &Path) -> Option<&'static str> {
    ENVIRONMENTS.into_iter().find(|name| has(&project.join(name), "pyvenv.cfg"))
}

/// A command of the shell by which the programs of a project's packages are found, in its folder.
pub(super) fn search_path(project: &Path) -> String {
    let python = own_environment(project).map(|name| format!("$PWD/{name}/bin:")).unwrap_or_default();
    format!("PATH=\"$PWD/node_modules/.bin:{python}$PATH\"")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn environment(folder: &Path) {
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::write(folder.join("bin/python3"), "").unwrap();
        fs::write(folder.join("pyvenv.cfg"), "").unwrap();
    }

    #[test]
    fn the_active_environment_is_the_one_of_the_variable_or_of_the_first_python() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        environment(&one);
        environment(&other);
        let path = |folders: &[PathBuf]| Some(env::join_paths(folders).unwrap());
        let named = |folder: &Path| Some(folder.as_os_str().to_owned());
        let (one_bin, other_bin) = (one.join("bin"), other.join("bin"));
        assert_eq!(active(named(&one), path(std::slice::from_ref(&other_bin))), Some(one.clone()));
        assert_eq!(active(None, path(&["/nonexistent".into(), one_bin, other_bin.clone()])), Some(one));
        assert_eq!(active(named(folder.path()), path(&[other_bin])), Some(other), "that has no pyvenv.cfg");
        assert_eq!(active(Some("relative".into()), None), None);
        assert_eq!(active(None, None), None);
    }

    #[test]
    fn programs_of_the_project_s_packages_come_first() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(search_path(folder.path()), "PATH=\"$PWD/node_modules/.bin:$PATH\"");
        environment(&folder.path().join("venv"));
        assert_eq!(search_path(folder.path()), "PATH=\"$PWD/node_modules/.bin:$PWD/venv/bin:$PATH\"");
    }
}
