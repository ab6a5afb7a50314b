//! Recognises web applications in Java: a folder with `WEB-INF` or a page, or the only archive of a project.

use std::path::{Path, PathBuf};

use super::folder::entries;

/// Where Maven and Gradle put what they build.
const OUTPUTS: [&str; 3] = ["", "target", "build/libs"];

/// The web application of a project, or that this path is.
pub(super) fn find(project: &Path) -> Option<PathBuf> {
    if project.join("WEB-INF").is_dir() || project.join("index.jsp").is_file() || is_archive(project) {
        return Some(project.to_owned());
    }
    OUTPUTS.iter().find_map(|output| only_archive(&project.join(output)))
}

fn only_archive(folder: &Path) -> Option<PathBuf> {
    let mut archives = entries(folder).into_iter().filter(|path| is_archive(path));
    let first = archives.next()?;
    archives.next().is_none().then_some(first)
}

fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "war") && path.is_file()
}
