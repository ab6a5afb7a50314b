//! `corral run --watch`: what has changed of the code, and the requests that wait until that is acted on, so that each
//! is answered by the code that was there when it came.

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use corral_ipc::message::{AppId, Ticket};
use corral_sys::tree::{Tree, TreeChange};

use crate::code::{enters, is_code};
use crate::ids::RouterId;

/// The files that are followed, and the requests that wait.
#[derive(Debug)]
pub(crate) struct Watch {
    tree: Tree,
    /// The files that were named themselves, whatever they are called.
    named: Vec<PathBuf>,
    /// The folders, in which only code is meant.
    folders: Vec<PathBuf>,
    /// Hashes of what was in files when they changed last: a build often writes the same again.
    contents: HashMap<PathBuf, u64>,
    /// The file that has changed, and when the change is acted on unless a request comes before.
    changed: Option<(PathBuf, Instant)>,
    /// Requests that wait for a restart to be over.
    asking: Vec<(RouterId, Ticket)>,
    /// A program that cannot run beside itself is being started anew.
    replacing: Option<AppId>,
}

/// How long a change waits for others: a developer often saves several files at once.
const PAUSE: Duration = Duration::from_millis(50);

/// No source is larger.
const LARGEST: u64 = 4 * 1024 * 1024;

impl Watch {
    /// Follows files and folders; says so where that is not possible.
    pub(crate) fn of(paths: &[PathBuf]) -> Option<Self> {
        if paths.is_empty() {
            return None;
        }
        match Tree::new(paths, enters) {
            Ok(tree) => {
                let (named, folders) = paths.iter().cloned().partition(|path| path.is_file());
                let contents = HashMap::new();
                Some(Self {
                    tree,
                    named,
                    folders,
                    contents,
                    changed: None,
                    asking: Vec::new(),
                    replacing: None,
                })
            }
            Err(error) => {
                tracing::warn!("changes of the code are not followed: {error}");
                None
            }
        }
    }

    /// Takes in what the kernel has to tell.
    pub(crate) fn look(&mut self, now: Instant) {
        for change in self.tree.changes() {
            let path = match change {
                TreeChange::Path(path) if !self.is_meant(&path) || !self.is_new(&path) => continue,
                TreeChange::Path(path) => path,
                TreeChange::Unknown => PathBuf::from("the code"),
            };
            self.changed = Some((path, now + PAUSE));
        }
    }

    /// Whether a file is one of the named ones, or code in a folder. Files beside named ones are not meant.
    fn is_meant(&self, path: &Path) -> bool {
        let is_inside = || self.folders.iter().any(|folder| path.starts_with(folder));
        self.named.iter().any(|named| named == path) || (is_code(path) && is_inside())
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

    /// When a change is acted on.
    pub(crate) fn changed_at(&self) -> Option<Instant> {
        self.changed.as_ref().map(|(_, at)| *at)
    }

    /// Takes the change, which is acted on now.
    pub(crate) fn take_change(&mut self) -> Option<PathBuf> {
        self.changed.take().map(|(path, _)| path)
    }

    /// A request waits.
    pub(crate) fn ask(&mut self, router: RouterId, ticket: Ticket) {
        self.asking.push((router, ticket));
    }

    /// The requests that need not wait any more, if no program is being started anew.
    pub(crate) fn answer(&mut self) -> Vec<(RouterId, Ticket)> {
        if self.replacing.is_some() { Vec::new() } else { std::mem::take(&mut self.asking) }
    }

    /// The requests of this router are gone with it.
    pub(crate) fn forget_router(&mut self, id: RouterId) {
        self.asking.retain(|(router, _)| *router != id);
    }

    /// A program is being started anew.
    pub(crate) fn replaces(&mut self, app: AppId) {
        self.replacing = Some(app);
    }

    /// The program is there, or cannot be started.
    pub(crate) fn is_decided(&mut self, app: AppId) {
        self.replacing = self.replacing.filter(|replacing| *replacing != app);
    }
}

impl AsFd for Watch {
    /// Readable when something has changed.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tree.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(watch.take_change().is_some(), expected, "{content:?}");
        };
        check(Some("1"), true);
        check(Some("1"), false);
        check(Some("2"), true);
        check(None, true);
        check(Some("2"), true);
        fs::write(folder.path().join("a.log"), "1").unwrap();
        watch.look(Instant::now());
        assert!(watch.take_change().is_none());
    }
}
