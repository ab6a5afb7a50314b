//! `corral run --watch`: applications are restarted when their code changes, and requests wait until that is done, so that
//! each is answered by the code that was there when it came.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use corral_ipc::message::{AppId, DeskQuestion, Ticket, ToPrototype, ToRouter};
use corral_sys::tree::{Change, Tree};

use super::Supervisor;
use super::console::say;
use crate::apply::Job;
use crate::output::Output;
use crate::routers::RouterId;

/// What is followed, and who waits.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) tree: Tree,
    /// The files that were named themselves, whatever they are called.
    named: Vec<PathBuf>,
    /// What was in files when they changed last: who builds anew often writes the same.
    contents: HashMap<PathBuf, u64>,
    /// What has changed, and when it is acted on unless somebody asks before.
    changed: Option<(PathBuf, Instant)>,
    /// Requests that wait for a restart to be over.
    asking: Vec<(RouterId, Ticket)>,
    /// A program that cannot run beside itself is being started anew.
    replacing: Option<AppId>,
}

/// Who saves several files is waited for.
const PAUSE: Duration = Duration::from_millis(50);

/// Folders of what is not the site's own code, or is written while it runs.
const NOT_ENTERED: [&str; 20] = [
    "node_modules",
    "vendor",
    "__pycache__",
    "venv",
    "env",
    "log",
    "logs",
    "tmp",
    "temp",
    "cache",
    "var",
    "storage",
    "data",
    "uploads",
    "media",
    "coverage",
    "static",
    "htmlcov",
    "site-packages",
    "obj",
];

/// Extensions of code and of templates.
const CODE: [&str; 54] = [
    "py", "pyi", "so", "rb", "ru", "rake", "erb", "haml", "slim", "pl", "pm", "psgi", "t", "ep", "tt", "tx",
    "js", "mjs", "cjs", "ts", "mts", "cts", "tsx", "jsx", "vue", "svelte", "go", "mod", "sum", "rs", "java",
    "kt", "scala", "groovy", "jsp", "jspx", "tag", "class", "jar", "war", "wasm", "html", "htm", "jinja",
    "jinja2", "j2", "mako", "ejs", "hbs", "pug", "tmpl", "tpl", "gohtml", "graphql",
];

/// Names of files that decide how a program runs.
const NAMES: [&str; 10] = [
    ".env",
    "package.json",
    "Procfile",
    "Gemfile",
    "Gemfile.lock",
    "requirements.txt",
    "pyproject.toml",
    "cpanfile",
    "web.xml",
    "tsconfig.json",
];

fn enters(name: &OsStr) -> bool {
    !name.as_encoded_bytes().starts_with(b".") && NOT_ENTERED.iter().all(|other| name != *other)
}

fn is_code(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    // Editors write beside a file before they replace it.
    let is_visible = !name.as_encoded_bytes().starts_with(b".");
    NAMES.iter().any(|other| name == *other) || (is_visible && CODE.contains(&extension))
}

impl Watch {
    /// Follows files and folders; says so where that is not possible.
    pub(super) fn of(paths: &[PathBuf]) -> Option<Self> {
        if paths.is_empty() {
            return None;
        }
        match Tree::new(paths, enters) {
            Ok(tree) => {
                let named = paths.iter().filter(|path| path.is_file()).cloned().collect();
                let contents = HashMap::new();
                Some(Self { tree, named, contents, changed: None, asking: Vec::new(), replacing: None })
            }
            Err(error) => {
                tracing::warn!("changes of the code are not followed: {error}");
                None
            }
        }
    }

    /// Takes in what the kernel has to tell.
    fn look(&mut self, now: Instant) {
        for change in self.tree.changes() {
            let path = match change {
                Change::Path(path) if !self.is_meant(&path) || !self.is_new(&path) => continue,
                Change::Path(path) => path,
                Change::Unknown => PathBuf::from("the code"),
            };
            self.changed = Some((path, now + PAUSE));
        }
    }

    /// Of files that are named, nothing beside them is meant.
    fn is_meant(&self, path: &Path) -> bool {
        if self.named.is_empty() { is_code(path) } else { self.named.iter().any(|named| named == path) }
    }

    /// Whether a file has other content than at its last change.
    fn is_new(&mut self, path: &Path) -> bool {
        let is_small = path.metadata().is_ok_and(|data| data.is_file() && data.len() <= LARGEST);
        let Some(content) = is_small.then(|| fs::read(path).ok()).flatten() else {
            self.contents.remove(path);
            return true;
        };
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        let hash = hasher.finish();
        self.contents.insert(path.to_owned(), hash) != Some(hash)
    }
}

/// No source is larger.
const LARGEST: u64 = 4 * 1024 * 1024;

impl Supervisor {
    /// When a change is acted on.
    pub(super) fn next_change(&self) -> Option<Instant> {
        // A change during the first start waits for its end.
        let watch = self.watch.as_ref().filter(|_| self.stop.is_none() && self.in_force.is_some())?;
        watch.changed.as_ref().map(|(_, at)| *at)
    }

    pub(super) fn read_tree(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.look(Instant::now());
        }
    }

    /// Restarts what has changed some moments ago.
    pub(super) fn follow_on_time(&mut self, now: Instant) {
        if self.next_change().is_some_and(|at| at <= now) {
            self.follow_change();
        }
    }

    fn follow_change(&mut self) {
        if self.next_change().is_none() {
            return;
        }
        let changed = self.watch.as_mut().and_then(|watch| watch.changed.take());
        let Some((path, _)) = changed else { return };
        let apps: Vec<_> = self
            .in_force
            .iter()
            .flat_map(|build| &build.apps)
            .map(|(id, spec)| (*id, spec.name.clone()))
            .collect();
        say(&format!("{} has changed", path.display()));
        for (id, name) in apps {
            if self.apps.get(&id).is_some_and(|app| app.strays && !app.workers.is_empty()) {
                self.replace_workers(id);
            } else if !self
                .jobs
                .iter()
                .any(|job| matches!(job, Job::RestartApp { name: other, .. } if *other == name))
            {
                self.jobs.push_back(Job::RestartApp { ticket: None, name });
            }
        }
    }

    /// A program with a port of its own choice ends before it is started anew; requests wait for it meanwhile.
    fn replace_workers(&mut self, id: AppId) {
        let Some(app) = self.apps.get_mut(&id) else { return };
        let known: Vec<_> = app.workers.keys().copied().collect();
        let retired: Vec<_> = known.into_iter().filter(|worker| app.retire(*worker)).collect();
        for worker in retired {
            self.tell_prototype(id, &ToPrototype::Retire { worker });
        }
        if let Some(watch) = &mut self.watch {
            watch.replacing = Some(id);
        }
    }

    /// A worker has come, or could not be started.
    pub(super) fn worker_is_decided(&mut self, id: AppId) {
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.replacing == Some(id)) {
            watch.replacing = None;
        }
    }

    pub(super) fn on_desk_question(&mut self, router: RouterId, ticket: Ticket, question: DeskQuestion) {
        match question {
            DeskQuestion::LastWords => {
                // They are nobody's business in a daemon.
                let explains = self.parts.console.as_ref().is_some_and(|console| console.explains);
                let outputs = self.outputs.iter_mut().filter(|output| explains && output.is_of_app());
                let words = outputs.flat_map(Output::last_words).collect();
                self.tell_router(router, &ToRouter::Told { ticket, words });
            }
            DeskQuestion::IsCurrent => {
                self.read_tree();
                self.follow_change();
                match &mut self.watch {
                    Some(watch) => watch.asking.push((router, ticket)),
                    None => self.tell_router(router, &ToRouter::Told { ticket, words: Vec::new() }),
                }
            }
        }
    }

    /// Lets requests go on when nothing is being restarted.
    pub(super) fn answer_desk(&mut self) {
        let is_quiet = self.apply.is_none() && self.jobs.is_empty();
        let Some(watch) = self.watch.as_mut().filter(|watch| is_quiet && watch.replacing.is_none()) else {
            return;
        };
        for (router, ticket) in std::mem::take(&mut watch.asking) {
            self.tell_router(router, &ToRouter::Told { ticket, words: Vec::new() });
        }
    }

    pub(super) fn forget_desk_of(&mut self, id: RouterId) {
        if let Some(watch) = &mut self.watch {
            watch.asking.retain(|(router, _)| *router != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_known_by_its_name() {
        for path in ["/a/app.py", "/a/x.rb", "/a/server.mjs", "/a/.env", "/a/package.json", "/a/t/x.html.erb"]
        {
            assert!(is_code(Path::new(path)), "{path}");
        }
        for path in
            ["/a/db.sqlite3", "/a/x.log", "/a/.app.py.swp", "/a/.#app.py", "/a/app.py~", "/a/data.json"]
        {
            assert!(!is_code(Path::new(path)), "{path}");
        }
        assert!(
            enters(OsStr::new("templates"))
                && !enters(OsStr::new(".git"))
                && !enters(OsStr::new("node_modules"))
        );
    }

    #[test]
    fn the_same_content_is_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let mut watch = Watch::of(&[folder.path().to_owned()]).unwrap();
        let mut check = |content: Option<&str>, expected: bool| {
            let path = folder.path().join("a.js");
            match content {
                Some(content) => fs::write(&path, content).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            watch.look(Instant::now());
            assert_eq!(watch.changed.take().is_some(), expected, "{content:?}");
        };
        check(Some("1"), true);
        check(Some("1"), false);
        check(Some("2"), true);
        check(None, true);
        check(Some("2"), true);
        fs::write(folder.path().join("a.log"), "1").unwrap();
        watch.look(Instant::now());
        assert!(watch.changed.is_none());
    }
}
