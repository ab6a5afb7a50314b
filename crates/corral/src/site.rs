//! Looks at a folder and says what kind of site it is. Reads names, and composer.json and .htaccess.

pub(crate) mod document;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A site that can be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    /// Folder that holds what browsers may reach; absolute.
    pub(crate) root: PathBuf,
    pub(crate) kind: Kind,
}

/// How a site wants its requests handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `index.php` answers every request that is not for a file or for another script.
    FrontController {
        /// Name of the software, if it is known.
        software: Option<&'static str>,
        /// Folders with an `index.php` of their own, as paths that end in a slash.
        folders: Vec<String>,
    },
    /// Each PHP script answers for itself.
    Scripts,
    /// No PHP at all.
    Static,
}

/// Why a path cannot be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SiteError {
    #[error("\"{}\" does not exist; name the folder of a site", .0.display())]
    Missing(PathBuf),
    #[error("\"{}\" is not a folder; name the folder that the file is in", .0.display())]
    NotFolder(PathBuf),
    #[error("the folder \"{}\" cannot be read ({source}); run this as a user who may read it", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// Finds out what is in a folder.
pub(crate) fn inspect(path: &Path) -> Result<Site, SiteError> {
    let unreadable = |source| SiteError::Unreadable { path: path.to_owned(), source };
    let path = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SiteError::Missing(path.to_owned()));
        }
        found => found.map_err(unreadable)?,
    };
    if !path.is_dir() {
        return Err(SiteError::NotFolder(path));
    }
    fs::read_dir(&path).map_err(unreadable)?;
    let public = PUBLIC_FOLDERS.iter().map(|name| path.join(name)).find(|folder| has(folder, "index.php"));
    let root = public.unwrap_or_else(|| path.clone());
    let kind = kind(&path, &root);
    Ok(Site { root, kind })
}

/// Where frameworks keep what browsers may reach.
const PUBLIC_FOLDERS: [&str; 3] = ["public", "web", "webroot"];

fn kind(project: &Path, root: &Path) -> Kind {
    let index = has(root, "index.php");
    let software = software(project);
    if index && (root != project || software.is_some() || rewrites_to_index(root) || is_only_script(root)) {
        return Kind::FrontController { software, folders: folders_with_index(root) };
    }
    if index || any_script(root, SEARCH_DEPTH) { Kind::Scripts } else { Kind::Static }
}

fn has(folder: &Path, name: &str) -> bool {
    folder.join(name).is_file()
}

/// Recognises software by files that nothing else has, then by what composer.json asks for.
fn software(project: &Path) -> Option<&'static str> {
    const FILES: [(&str, &str); 5] = [
        ("wp-load.php", "WordPress"),
        ("artisan", "Laravel"),
        ("symfony.lock", "Symfony"),
        ("core/lib/Drupal.php", "Drupal"),
        ("web/core/lib/Drupal.php", "Drupal"),
    ];
    const PACKAGES: [(&str, &str); 8] = [
        ("laravel/lumen-framework", "Lumen"),
        ("laravel/framework", "Laravel"),
        ("symfony/framework-bundle", "Symfony"),
        ("slim/slim", "Slim"),
        ("codeigniter4/framework", "CodeIgniter"),
        ("cakephp/cakephp", "CakePHP"),
        ("yiisoft/yii2", "Yii"),
        ("mezzio/mezzio", "Mezzio"),
    ];
    let composer = fs::read_to_string(project.join("composer.json")).unwrap_or_default();
    let asked_for = |package: &str| composer.contains(&format!("\"{package}\""));
    let by_package = PACKAGES.iter().find(|(package, _)| asked_for(package));
    // Lumen has an `artisan` too.
    let by_file = FILES.iter().find(|(file, _)| has(project, file));
    by_package.or(by_file).map(|(_, name)| *name)
}

/// Whether the site was made for a server that sends unknown paths to `index.php`.
fn rewrites_to_index(root: &Path) -> bool {
    let rules = fs::read_to_string(root.join(".htaccess")).unwrap_or_default();
    let is_rule = |line: &str| line.starts_with("RewriteRule") || line.starts_with("FallbackResource");
    rules.lines().map(str::trim_start).any(|line| is_rule(line) && line.contains("index.php"))
}

/// A lone `index.php` has to answer for everything.
fn is_only_script(root: &Path) -> bool {
    entries(root).iter().filter(|path| is_script(path)).count() == 1 && folders_with_index(root).is_empty()
}

fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("php")) && path.is_file()
}

/// How deep scripts are looked for below the root.
const SEARCH_DEPTH: usize = 3;

fn any_script(folder: &Path, depth: usize) -> bool {
    let entries = entries(folder);
    entries.iter().any(|path| is_script(path))
        || (depth > 0 && subfolders(&entries).any(|path| any_script(path, depth - 1)))
}

/// Paths such as `/wp-admin/`, in the order of their names.
fn folders_with_index(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    collect_folders(root, "/", SEARCH_DEPTH, &mut found);
    found
}

fn collect_folders(folder: &Path, uri: &str, depth: usize, found: &mut Vec<String>) {
    for path in subfolders(&entries(folder)) {
        // What has no place in a pattern: it would mean something else there.
        let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| is_plain(name)) else {
            continue;
        };
        let uri = format!("{uri}{name}/");
        if has(path, "index.php") && found.len() < MOST_FOLDERS {
            found.push(uri.clone());
        }
        if depth > 0 {
            collect_folders(path, &uri, depth - 1, found);
        }
    }
}

/// A site with more folders than this has other reasons for them than to be addressed.
const MOST_FOLDERS: usize = 200;

fn is_plain(name: &str) -> bool {
    !name.contains(|c: char| c.is_control() || "*!~%?#".contains(c))
}

/// What is in a folder, sorted; nothing for one that cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

/// The folders among these that belong to the site itself; links are not followed.
fn subfolders(entries: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    entries.iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_folder = path.symlink_metadata().is_ok_and(|data| data.is_dir());
        is_folder && !name.starts_with('.') && name != "vendor" && name != "node_modules"
    })
}

impl Site {
    /// Whether a PHP module is needed.
    pub(crate) fn needs_php(&self) -> bool {
        self.kind != Kind::Static
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = self.root.display();
        match &self.kind {
            Kind::FrontController { software: Some(name), .. } => write!(f, "{name} in {root}"),
            Kind::FrontController { software: None, .. } => {
                write!(f, "PHP site with a front controller, {}", self.root.join("index.php").display())
            }
            Kind::Scripts => write!(f, "PHP scripts in {root}"),
            Kind::Static => write!(f, "static files in {root}"),
        }
    }
}

#[cfg(test)]
mod tests;
