//! Recognises sites in PHP: by their front controller, or by their scripts.

use std::path::Path;

use super::folder::{entries, has, read_text, subfolders};
use super::worker_script::{self, InMemory, WorkerScript};
use super::{Site, SiteKind};

/// Which paths belong to scripts in a site with a front controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScriptPaths {
    /// These: scripts by their names, folders with an `index.php` of their own with a slash at the
    /// end. Any other path that looks like a script is the front controller's.
    Listed(Vec<String>),
    /// Every path that looks like a script, for software that is extended while it runs; and these
    /// folders.
    Any(Vec<String>),
}

/// Where frameworks keep what browsers may reach.
const PUBLIC_FOLDERS: [&str; 4] = ["public", "web", "webroot", "pub"];

/// Looks for an `index.php` that answers for all paths.
pub(super) fn front_controller(project: &Path) -> Option<Site> {
    let public = PUBLIC_FOLDERS.iter().map(|name| project.join(name)).find(|folder| has(folder, "index.php"));
    let has_public = public.is_some();
    let root = public.unwrap_or_else(|| project.to_owned());
    let software = software(project);
    if !has(&root, "index.php") || !(has_public || software.is_some() || is_made_for_all(&root)) {
        return None;
    }
    let found = FoundScripts::of(&root);
    let is_extended = !has_public && found.scripts.len() > 1;
    let scripts = if is_extended || found.scripts.len() > MOST_LISTED {
        ScriptPaths::Any(found.folders)
    } else {
        ScriptPaths::Listed([found.scripts, found.folders].concat())
    };
    let in_memory = worker_script::find(project, &root);
    Some(Site {
        root,
        kind: SiteKind::FrontController { software, scripts },
        has_sources: !has_public,
        in_memory,
    })
}

/// A site whose requests all go to a script that stays in memory.
pub(super) fn kept_by(project: &Path, worker: WorkerScript) -> Site {
    let mut folders = PUBLIC_FOLDERS.iter().map(|name| project.join(name)).filter(|folder| folder.is_dir());
    let public = folders.clone().find(|folder| worker.script.starts_with(folder)).or_else(|| folders.next());
    let has_sources = public.is_none();
    let root = public.unwrap_or_else(|| project.to_owned());
    let kind =
        SiteKind::FrontController { software: software(project), scripts: ScriptPaths::Listed(Vec::new()) };
    Site { root, kind, has_sources, in_memory: InMemory::By(worker) }
}

/// Whether there are scripts in a folder, down to some depth.
pub(super) fn has_scripts(project: &Path) -> bool {
    !FoundScripts::of(project).scripts.is_empty()
}

/// A site with more scripts than this is not listed.
const MOST_LISTED: usize = 100;

/// Recognises software by files that nothing else has, then by what composer.json asks for.
fn software(project: &Path) -> Option<&'static str> {
    const FILES: [(&str, &str); 6] = [
        ("wp-load.php", "WordPress"),
        ("artisan", "Laravel"),
        ("bin/magento", "Magento"),
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
    let composer = read_text(&project.join("composer.json"));
    let asked_for = |package: &str| composer.contains(&format!("\"{package}\""));
    let by_package = PACKAGES.iter().find(|(package, _)| asked_for(package));
    // Lumen has an `artisan` too.
    let by_file = FILES.iter().find(|(file, _)| has(project, file));
    by_package.or(by_file).map(|(_, name)| *name)
}

/// Whether `index.php` was made to answer for every path: a rule for Apache sends it all of them, or
/// it looks at the path itself.
fn is_made_for_all(root: &Path) -> bool {
    let read = |name: &str| read_text(&root.join(name));
    let is_rule = |line: &str| line.starts_with("RewriteRule") || line.starts_with("FallbackResource");
    let rules = read(".htaccess");
    let index = read("index.php");
    rules.lines().map(str::trim_start).any(|line| is_rule(line) && line.contains("index.php"))
        || ["REQUEST_URI", "PATH_INFO"].iter().any(|name| index.contains(name))
}

/// The places where a site has scripts.
#[derive(Debug, Default)]
struct FoundScripts {
    /// Paths such as `/admin/login.php`, in the order of their names.
    scripts: Vec<String>,
    /// Paths such as `/wp-admin/` of folders below the root that have an `index.php`.
    folders: Vec<String>,
    n_searched: usize,
}

/// How deep scripts are looked for below the root, and in how many folders.
const SEARCH_DEPTH: usize = 3;
const MOST_FOLDERS: usize = 5_000;

impl FoundScripts {
    fn of(root: &Path) -> Self {
        let mut found = Self::default();
        found.search(root, "/", SEARCH_DEPTH);
        found
    }

    fn search(&mut self, folder: &Path, uri: &str, depth: usize) {
        self.n_searched += 1;
        if self.n_searched > MOST_FOLDERS {
            return;
        }
        let entries = entries(folder);
        for path in entries.iter().filter(|path| is_script(path)) {
            self.scripts.extend(plain_name(path).map(|name| format!("{uri}{name}")));
        }
        if uri != "/" && has(folder, "index.php") {
            self.folders.push(uri.to_owned());
        }
        if depth > 0 {
            for path in subfolders(&entries) {
                if let Some(name) = plain_name(path) {
                    self.search(path, &format!("{uri}{name}/"), depth - 1);
                }
            }
        }
    }
}

pub(super) fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("php")) && path.is_file()
}

/// A name without anything that means something else in a pattern.
fn plain_name(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    (!name.contains(|c: char| c.is_control() || "*!~%?#".contains(c))).then_some(name)
}
