//! The folder of an application's code, in which commands are at home.

use std::path::{Path, PathBuf};

use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::message::FolderChoice;
use rustix::process::chdir;

/// Changes to the folder, or the next best one: not every application has one that it may enter.
pub(super) fn enter(spec: &AppSpec, choice: &FolderChoice) {
    let FolderChoice::OfCode { otherwise } = choice else { return };
    // In a root of its own, the daemon's folder is another one or none.
    let places = [Path::new("/"), otherwise.as_path()];
    for place in places.into_iter().chain(of_code(spec).as_deref()) {
        let _ = chdir(place);
    }
}

/// The folder of the code, where that is known. PHP's scripts are often in a folder of their own below it.
fn of_code(spec: &AppSpec) -> Option<PathBuf> {
    match &spec.runtime {
        RuntimeSpec::Php(php) => php.targets.first().map(|target| project(&target.root)),
        RuntimeSpec::Python(python) => python.path.first().map(PathBuf::from),
        RuntimeSpec::Perl(perl) => perl.script.parent().map(Path::to_owned),
        RuntimeSpec::Ruby(ruby) => ruby.script.parent().map(Path::to_owned),
        RuntimeSpec::Http(_) | RuntimeSpec::Process(_) | RuntimeSpec::Wasm(_) | RuntimeSpec::Unusable(_) => {
            None
        }
    }
}

/// The folder above the scripts, if the project is there.
fn project(root: &Path) -> PathBuf {
    let is_project = |folder: &&Path| PROJECT_FILES.iter().any(|name| folder.join(name).is_file());
    let above = root.parent().filter(is_project);
    above.filter(|_| !is_project(&root)).unwrap_or(root).to_owned()
}

/// Files in the folder of a project.
const PROJECT_FILES: [&str; 2] = ["composer.json", "artisan"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_found_above_its_public_folder() {
        let folder = tempfile::tempdir().unwrap();
        let public = folder.path().join("public");
        std::fs::create_dir(&public).unwrap();
        assert_eq!(project(&public), public);
        std::fs::write(folder.path().join("composer.json"), "{}").unwrap();
        assert_eq!(project(&public), folder.path());
        std::fs::write(public.join("composer.json"), "{}").unwrap();
        assert_eq!(project(&public), public);
        assert_eq!(project(Path::new("/")), Path::new("/"));
    }
}
