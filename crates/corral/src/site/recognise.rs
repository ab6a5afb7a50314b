//! Looks at a folder and says what kind of site it is. Reads names, and files that say how something is started.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::folder::{INDEXES, entries, has, subfolders};
use super::{
    ProgramApp, Site, SiteKind, component, go, java, php, program, python, script, sources, worker_script,
};

/// Why a path cannot be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SiteError {
    #[error("\"{}\" does not exist; name the folder of a site", .0.display())]
    Missing(PathBuf),
    #[error("\"{}\" is neither a folder nor a component of WebAssembly nor an archive of Java; name the folder that \
        the file is in", .0.display())]
    NotFolder(PathBuf),
    #[error(
        "\"/\" holds the whole machine: name the folder of a site; or serve its files as they are: \
        corral run --static /"
    )]
    Machine,
    #[error(
        "--spa is for a folder of files with an index.html, and this is: {0}; name the folder that the build has \
        made, such as dist"
    )]
    NotPages(String),
    #[error("\"{}\" is empty; put a site into it", .0.display())]
    Empty(PathBuf),
    #[error("the folder \"{}\" cannot be read ({reason}); run this as a user who may read it", path.display())]
    Unreadable { path: PathBuf, reason: io::ErrorKind },
    #[error(
        "there is no script \"{}\" in \"{}\"; --worker names one below the folder of the site",
        script.display(),
        folder.display()
    )]
    NoWorker { script: PathBuf, folder: PathBuf },
    #[error("\"{}\" has {what}: {remedy}; or serve its files as they are: corral run --static", path.display())]
    Unknown { path: PathBuf, what: String, remedy: String },
}

/// Finds out what is in a folder.
pub(crate) fn inspect(path: &Path) -> Result<Site, SiteError> {
    let path = canonical(path)?;
    if component::is_component(&path) {
        let root = path.parent().unwrap_or(Path::new("/")).to_owned();
        return Ok(Site::whole(&root, SiteKind::Component(path)));
    }
    if !path.is_dir() {
        return match (java::find(&path), path.parent()) {
            (Some(webapp), Some(folder)) => Ok(Site::whole(folder, SiteKind::Java { webapp })),
            _ => Err(SiteError::NotFolder(path)),
        };
    }
    check_folder(&path)?;
    if let Some(site) = own_project(&path) {
        return Ok(site);
    }
    if path.parent().is_none() {
        return Err(SiteError::Machine);
    }
    if let Some(hosted) = hosted_folder(&path) {
        return inspect(&hosted);
    }
    let unknown = |(what, remedy)| SiteError::Unknown { path: path.clone(), what, remedy };
    match one_below(&path).map_err(unknown)? {
        Some(site) => Ok(site),
        None if php::has_scripts(&path) => Ok(Site::whole(&path, SiteKind::Scripts)),
        None => match sources::what_to_do(&path).map(unknown) {
            Some(error) => Err(error),
            None => Ok(Site::whole(&path, SiteKind::Static)),
        },
    }
}

/// A folder with an application of PHP that a script keeps in memory.
pub(crate) fn kept_by(path: &Path, script: &Path) -> Result<Site, SiteError> {
    let path = canonical(path)?;
    check_folder(&path)?;
    let missing = || SiteError::NoWorker { script: script.to_owned(), folder: path.clone() };
    let worker = worker_script::named(&path, script).ok_or_else(missing)?;
    Ok(php::kept_by(&path, worker))
}

/// A folder with a program that this command starts.
pub(crate) fn started_by(path: &Path, command: &str) -> Result<Site, SiteError> {
    let path = canonical(path)?;
    if !path.is_dir() {
        return Err(SiteError::NotFolder(path));
    }
    Ok(Site::whole(&path, SiteKind::Program(ProgramApp::new(command))))
}

/// A folder whose files are to be served, whatever they are.
pub(crate) fn files(path: &Path) -> Result<Site, SiteError> {
    let path = canonical(path)?;
    if !path.is_dir() {
        return Err(SiteError::NotFolder(path));
    }
    check_folder(&path)?;
    Ok(Site::whole(&path, SiteKind::Files))
}

/// Whether a site is a folder of files with a page at its top.
pub(crate) fn is_for_browsers(site: &Site) -> bool {
    matches!(site.kind, SiteKind::Static) && has(&site.root, "index.html")
}

fn canonical(path: &Path) -> Result<PathBuf, SiteError> {
    fs::canonicalize(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => SiteError::Missing(path.to_owned()),
        reason => SiteError::Unreadable { path: path.to_owned(), reason },
    })
}

/// Checks that a folder can be read and is not empty.
fn check_folder(path: &Path) -> Result<(), SiteError> {
    let is_empty = fs::read_dir(path).map(|mut entries| entries.next().is_none());
    match is_empty {
        Err(error) => Err(SiteError::Unreadable { path: path.to_owned(), reason: error.kind() }),
        Ok(true) => Err(SiteError::Empty(path.to_owned())),
        Ok(false) => Ok(()),
    }
}

/// The site that a folder's own files make, if any.
fn own_project(path: &Path) -> Option<Site> {
    project(path).or_else(|| {
        let has_script = entries(path).iter().any(|file| php::is_script(file));
        has_script.then(|| Site::whole(path, SiteKind::Scripts))
    })
}

/// A site that has more than scripts that lie about. What a Procfile says comes before what is guessed.
fn project(path: &Path) -> Option<Site> {
    if let Some(program) = program::of_procfile(path) {
        return Some(Site::whole(path, SiteKind::Program(program)));
    }
    let program = program::start_script(path).map(SiteKind::Program);
    let found = || program.or_else(|| application(path)).map(|kind| Site::whole(path, kind));
    php::front_controller(path).or_else(found)
}

/// The kind of a folder that has neither a front controller nor a program with a start script in it.
fn application(project: &Path) -> Option<SiteKind> {
    if entries(project).iter().any(|file| php::is_script(file)) {
        return None;
    }
    let go = || go::find(project).map(SiteKind::Go);
    let java = || java::find(project).map(|webapp| SiteKind::Java { webapp });
    let component = || component::find(project).map(SiteKind::Component);
    let script = || script::find(project).map(SiteKind::Script);
    let program = || program::guess(project).map(SiteKind::Program);
    let python = python::find(project).map(SiteKind::Python);
    python.or_else(script).or_else(go).or_else(java).or_else(component).or_else(program)
}

/// The folder that a provider of web space publishes, where nothing else is to be seen.
fn hosted_folder(path: &Path) -> Option<PathBuf> {
    let has_index = |folder: &Path| INDEXES.iter().any(|name| has(folder, name));
    let hosted = HOSTED_FOLDERS.iter().map(|name| path.join(name)).find(|folder| has_index(folder));
    hosted.filter(|_| !has_index(path))
}

const HOSTED_FOLDERS: [&str; 3] = ["public_html", "htdocs", "httpdocs"];

/// The project in a sub-folder, if that is the only one and the folder itself shows nothing.
fn one_below(path: &Path) -> Result<Option<Site>, sources::SourceAdvice> {
    let entries = entries(path);
    let mut found: Vec<_> = subfolders(&entries).filter_map(|folder| project(folder)).collect();
    let has_index = INDEXES.iter().any(|name| has(path, name));
    if has_index || found.len() > 1 {
        // These can be served as they lie, with what is beside them.
        found.retain(|site| !(site.has_sources && matches!(site.kind, SiteKind::FrontController { .. })));
    }
    match found.len() {
        0 => Ok(None),
        1 if !has_index => Ok(found.pop()),
        _ => Err(sources::projects_below(path, &found)),
    }
}

#[cfg(test)]
mod tests;
