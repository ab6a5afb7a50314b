//! Recognises applications in Ruby and Perl by the file that all their servers start.

use std::path::{Path, PathBuf};

use super::folder::{entries, has};

/// An application that a script of its own makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptApp {
    /// As in the `type` of an application.
    pub(crate) language: &'static str,
    /// The interface that the file is for.
    pub(crate) interface: &'static str,
    pub(crate) file: PathBuf,
    /// Where the project keeps files for browsers, if it does.
    pub(crate) public: Option<PathBuf>,
}

const FILES: [(&str, &str, &str); 3] =
    [("ruby", "Rack", "config.ru"), ("perl", "PSGI", "app.psgi"), ("perl", "PSGI", "bin/app.psgi")];

/// Looks for an application in a folder.
pub(super) fn find(project: &Path) -> Option<ScriptApp> {
    let known = FILES.into_iter().find(|(.., name)| has(project, name));
    let (language, interface, file) = match known {
        Some((language, interface, name)) => (language, interface, project.join(name)),
        None => ("perl", "PSGI", only_psgi(project)?),
    };
    let public = Some(project.join("public")).filter(|folder| folder.is_dir());
    Some(ScriptApp { language, interface, file, public })
}

fn only_psgi(project: &Path) -> Option<PathBuf> {
    let is_one =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == "psgi") && path.is_file();
    let mut files = entries(project).into_iter().filter(is_one);
    files.next().filter(|_| files.next().is_none())
}
