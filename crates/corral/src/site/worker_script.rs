//! Finds the script that keeps an application of PHP in memory, where a package says that there is one.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::folder::{has, read, read_text};

/// Whether an application of PHP stays in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum InMemory {
    /// The application is loaded for each request.
    #[default]
    No,
    /// The application could be kept, but something is missing.
    Lacks(String),
    /// A script asks for the requests.
    By(WorkerScript),
}

/// A script that stays in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkerScript {
    /// The package that has brought it, if that is known.
    pub(crate) software: Option<&'static str>,
    /// Absolute.
    pub(crate) script: PathBuf,
    /// The folder whose changes concern it.
    pub(crate) project: PathBuf,
    /// Variables that it needs.
    pub(crate) environment: Vec<(&'static str, String)>,
}

/// Looks at what is installed.
pub(super) fn find(project: &Path, public: &Path) -> InMemory {
    let packages = Packages::of(project);
    if packages.version("laravel/octane").is_some() {
        return octane(project, public);
    }
    let has_runtime = packages.version("runtime/frankenphp-symfony").is_some();
    let is_built_in = packages.version("symfony/runtime").is_some_and(has_runner);
    if !has_runtime && !is_built_in {
        return InMemory::No;
    }
    if !loads_runtime(public) {
        let lack = "Symfony's runtime for workers is installed, but index.php does not load \
            vendor/autoload_runtime.php";
        return if has_runtime { InMemory::Lacks(lack.to_owned()) } else { InMemory::No };
    }
    let runtime = has_runtime.then(|| ("APP_RUNTIME", r"Runtime\FrankenPhpSymfony\Runtime".to_owned()));
    InMemory::By(WorkerScript {
        software: Some("Symfony's runtime"),
        script: public.join("index.php"),
        project: project.to_owned(),
        environment: runtime.into_iter().collect(),
    })
}

fn octane(project: &Path, public: &Path) -> InMemory {
    let script = public.join(OCTANE_SCRIPT);
    if !script.is_file() {
        return InMemory::Lacks(format!(
            "Laravel Octane is installed, but {} is missing, which `php artisan octane:install --server=frankenphp` \
            makes",
            script.display()
        ));
    }
    let variable = |name, path: &Path| (name, path.display().to_string());
    InMemory::By(WorkerScript {
        software: Some("Laravel Octane"),
        script,
        project: project.to_owned(),
        environment: vec![
            variable("APP_BASE_PATH", project),
            variable("APP_PUBLIC_PATH", public),
            ("LARAVEL_OCTANE", "1".to_owned()),
        ],
    })
}

const OCTANE_SCRIPT: &str = "frankenphp-worker.php";

/// The script that the user has named, absolute or below the project.
pub(super) fn named(project: &Path, script: &Path) -> Option<WorkerScript> {
    let script = std::fs::canonicalize(project.join(script)).ok().filter(|script| script.is_file())?;
    let project = project.to_owned();
    Some(WorkerScript { software: None, script, project, environment: Vec::new() })
}

/// Whether this version of symfony/runtime can ask for requests by itself.
fn has_runner(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map(|number| number.parse::<u32>().ok());
    let version = numbers.next().flatten().zip(numbers.next().flatten());
    version.is_some_and(|version| version >= (7, 4))
}

fn loads_runtime(public: &Path) -> bool {
    has(public, "index.php") && read_text(&public.join("index.php")).contains("autoload_runtime.php")
}

/// The packages that composer.lock says are installed.
struct Packages(Value);

impl Packages {
    fn of(project: &Path) -> Self {
        let text = read(&project.join("composer.lock")).unwrap_or_default();
        Self(serde_json::from_slice(&text).unwrap_or_default())
    }

    fn version(&self, name: &str) -> Option<&str> {
        let packages = self.0["packages"].as_array()?;
        let package = packages.iter().find(|package| package["name"] == name)?;
        Some(package["version"].as_str().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[track_caller]
    fn check(lock: &str, files: &[(&str, &str)]) -> InMemory {
        let folder = tempfile::tempdir().unwrap();
        let public = folder.path().join("public");
        fs::create_dir(&public).unwrap();
        fs::write(folder.path().join("composer.lock"), lock).unwrap();
        for (name, text) in files {
            fs::write(public.join(name), text).unwrap();
        }
        find(folder.path(), &public)
    }

    const RUNTIME: (&str, &str) = ("index.php", "<?php require '../vendor/autoload_runtime.php';");

    #[test]
    fn octane_is_found_by_its_package_and_script() {
        let lock = r#"{"packages": [{"name": "laravel/octane", "version": "v2.5.0"}]}"#;
        let InMemory::By(found) = check(lock, &[("frankenphp-worker.php", "")]) else {
            panic!("it is there")
        };
        assert!(found.script.ends_with("public/frankenphp-worker.php"));
        assert!(found.environment.iter().any(|(name, _)| *name == "APP_BASE_PATH"));
        let InMemory::Lacks(lack) = check(lock, &[]) else { panic!("the script is missing") };
        assert!(lack.contains("octane:install"), "{lack}");
    }

    #[test]
    fn symfony_has_a_package_or_a_runner_of_its_own() {
        let lock = |name: &str, version: &str| {
            format!(r#"{{"packages": [{{"name": "{name}", "version": "{version}"}}]}}"#)
        };
        let package = lock("runtime/frankenphp-symfony", "0.2.0");
        let InMemory::By(found) = check(&package, &[RUNTIME]) else { panic!("it is there") };
        assert_eq!(found.environment[0].0, "APP_RUNTIME");
        assert!(matches!(check(&package, &[("index.php", "<?php")]), InMemory::Lacks(_)));
        for (version, expected) in
            [("v7.4.1", true), ("v8.0.0", true), ("v7.3.9", false), ("dev-main", false)]
        {
            let found = check(&lock("symfony/runtime", version), &[RUNTIME]);
            assert_eq!(matches!(found, InMemory::By(_)), expected, "{version}");
        }
    }

    #[test]
    fn nothing_is_found_where_nothing_is_installed() {
        for lock in ["", "[]", "{}", r#"{"packages": {"name": 1}}"#, r#"{"packages": [1, {"name": "a/b"}]}"#]
        {
            assert_eq!(check(lock, &[RUNTIME]), InMemory::No, "{lock}");
        }
    }
}
