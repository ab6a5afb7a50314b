//! `try`: the first of several paths that leads to a file takes the place of the request's.
//!
//! A file is sent as a `share` sends it, and a script is left to what the action leads to. The look costs a system call
//! for each path. Sources of scripts and hidden files are never sent: they count as not there.

use corral_cgi::script::{Meaning, meaning};
use corral_config::route::{Action, ActionKind, FileKind, LastTry, ScriptNames, Share, TryFiles};
use corral_config::table::Key;
use corral_config::template::{PathFault, Rewrite};

use super::Routing;
use super::rewrite::RewriteError;
use crate::error_chain::Chain;
use crate::files::{self, ConfinedPath};
use crate::request::routing::RouteTarget;
use crate::storage::buffers;
use crate::variables::{RequestVariables, script};

/// A path that leads somewhere.
enum FoundPath {
    /// To a file that is sent.
    File(Vec<u8>),
    /// To a script that is run, with what is behind its name.
    Script(Vec<u8>),
    /// To a folder whose slash is missing in the request.
    Folder,
}

impl<'c> Routing<'_, 'c> {
    /// Looks for the files of an action. `Err` is a target that ends the way early.
    pub(super) fn try_files(
        &mut self,
        key: Key<TryFiles>,
        action: &'c Action,
    ) -> Result<(), RouteTarget<'c>> {
        let settings = self.request.settings;
        let tried = settings.generation.config.tables.tries.get(key).ok_or(RouteTarget::Nothing(500))?;
        let search = Search::new(tried, action).ok_or(RouteTarget::Nothing(500))?;
        for candidate in &tried.candidates {
            let Some(found) = self.look(search, candidate)? else { continue };
            let is_sent = self.take_found(found, candidate)?;
            let files = tried.files.as_ref().filter(|_| is_sent);
            return files.map_or(Ok(()), |files| Err(RouteTarget::Share(files)));
        }
        match &tried.last {
            LastTry::Request => Ok(()),
            LastTry::Path(path) => self.rewrite(path).map_err(|error| RouteTarget::Nothing(error.report())),
            LastTry::Status(status) => Err(RouteTarget::Nothing(*status)),
        }
    }

    /// Puts what was found in the place of the request's path and query; whether it is sent.
    fn take_found(&mut self, found: FoundPath, candidate: &Rewrite) -> Result<bool, RouteTarget<'c>> {
        let (path, is_sent) = match found {
            FoundPath::File(path) => (path, true),
            FoundPath::Script(path) => (path, false),
            FoundPath::Folder => return Err(RouteTarget::MissingSlash),
        };
        // The query is made of the request as it was.
        if let Some(query) = self.query_of(candidate)? {
            self.request.set_query(query);
        }
        if path == self.request.path() {
            buffers::give(path);
        } else {
            self.request.set_path(path);
        }
        self.log_rewritten();
        Ok(is_sent)
    }

    fn query_of(&self, candidate: &Rewrite) -> Result<Option<Vec<u8>>, RouteTarget<'c>> {
        let mut text = buffers::take();
        let query = self.new_query(candidate, &mut text);
        buffers::give(text);
        query.map_err(|error| RouteTarget::Nothing(error.report()))
    }

    /// Looks at what a path leads to; a client's value that would lead elsewhere leads to nothing.
    fn look(&self, search: Search<'c>, candidate: &Rewrite) -> Result<Option<FoundPath>, RouteTarget<'c>> {
        let mut text = buffers::take();
        let path = self.new_path(candidate, &mut text);
        buffers::give(text);
        let path = match path {
            Ok(path) => path.unwrap_or_else(|| self.request.path().to_vec()),
            Err(stray @ RewriteError::Stray(_)) => {
                tracing::info!("no file is tried: {}", Chain(&stray));
                return Ok(None);
            }
            Err(error) => return Err(RouteTarget::Nothing(error.report())),
        };
        let found = match candidate.means_folder(&path) {
            true => self.find_in_folder(search, &path),
            false => self.find(search, path),
        };
        found.map_err(RouteTarget::Nothing)
    }

    /// The file or script at a path; `Err` is the status of a failure.
    fn find(&self, search: Search<'_>, path: Vec<u8>) -> Result<Option<FoundPath>, u16> {
        if search.scripts.is_some() && is_hidden(&path) {
            return Ok(None);
        }
        if self.is_script(search, &path)? {
            return Ok(Some(FoundPath::Script(path)));
        }
        let is_there = search.sends(&path)
            && self.has_type(search.files, &path)?
            && self.kind_of(search.files, &path)? == FileKind::File;
        Ok(is_there.then_some(FoundPath::File(path)))
    }

    /// The index of a folder.
    fn find_in_folder(&self, search: Search<'_>, path: &[u8]) -> Result<Option<FoundPath>, u16> {
        for name in search.index {
            let Some(found) = self.find(search, [path, name.as_bytes()].concat())? else { continue };
            let lacks_slash = path.strip_suffix(b"/") == Some(self.request.path());
            let is_redirected = lacks_slash && self.request.may_get_slash();
            return Ok(Some(if is_redirected { FoundPath::Folder } else { found }));
        }
        Ok(None)
    }

    /// Whether a path leads to a script. More behind the script's name is a path of its own only where a client has
    /// asked for it: `$uri.html` is not meant for `/a.php/x`.
    fn is_script(&self, search: Search<'_>, path: &[u8]) -> Result<bool, u16> {
        let may_have_more = path == self.request.path();
        let name = match search.scripts {
            Some(ScriptNames::Ends(ends)) => match meaning(path, ends) {
                Meaning::Script { name, path_info } if may_have_more || path_info.is_empty() => name,
                _ => return Ok(false),
            },
            Some(ScriptNames::All) if may_have_more => return self.begins_with_file(search.files, path),
            Some(ScriptNames::All) => path,
            None => return Ok(false),
        };
        Ok(self.kind_of(search.files, name)? == FileKind::File)
    }

    /// Whether the first thing on the way that is not a folder is a file.
    fn begins_with_file(&self, files: &Share, path: &[u8]) -> Result<bool, u16> {
        for end in memchr::memchr_iter(b'/', path).skip(1).chain([path.len()]) {
            match self.kind_of(files, path.get(..end).unwrap_or_default())? {
                FileKind::Folder => {}
                kind => return Ok(kind == FileKind::File),
            }
        }
        Ok(false)
    }

    /// Whether a file of this name is one of those that are sent.
    fn has_type(&self, files: &Share, path: &[u8]) -> Result<bool, u16> {
        let Some(types) = &files.types else { return Ok(true) };
        let mime_type = self.request.request_settings().mime_types.lookup(path);
        types.matches(mime_type.unwrap_or_default()).map_err(|given_up| {
            script::report(&given_up);
            500
        })
    }

    /// The kind of file at a path below the folder; of several folders the first counts that has anything.
    fn kind_of(&self, files: &Share, path: &[u8]) -> Result<FileKind, u16> {
        let mut variables = RequestVariables { path, ..self.variables() };
        let (mut place, mut chroot) = (buffers::take_line(), Vec::new());
        let mut kind = FileKind::Absent;
        for template in &files.paths {
            place.clear();
            chroot.clear();
            match files.confinement.render(template, &mut variables, (&mut place, &mut chroot)) {
                Ok(()) => {}
                Err(PathFault::Script(exception)) => {
                    script::report(&exception);
                    return Err(500);
                }
                Err(PathFault::Stray(_)) => continue,
            }
            let chroot = files.confinement.chroot.is_some().then_some(&*chroot);
            kind = files::look(&ConfinedPath::new(&place, chroot, &files.confinement));
            if kind != FileKind::Absent {
                break;
            }
        }
        buffers::give(place);
        Ok(kind)
    }
}

/// Where an action looks, and for what.
#[derive(Clone, Copy)]
struct Search<'c> {
    files: &'c Share,
    index: &'c [String],
    /// Absent where an action is a share, which knows no scripts and sends what is there.
    scripts: Option<&'c ScriptNames>,
}

impl<'c> Search<'c> {
    fn new(tried: &'c TryFiles, action: &'c Action) -> Option<Self> {
        match (&tried.files, &action.kind) {
            (Some(files), _) => Some(Self { files, index: &tried.index, scripts: Some(&tried.scripts) }),
            (None, ActionKind::Share(share)) => {
                Some(Self { files: share, index: &share.index, scripts: None })
            }
            (None, _) => None,
        }
    }

    /// Whether a file that is not run may be sent as it is.
    fn sends(self, path: &[u8]) -> bool {
        match self.scripts {
            None => true,
            Some(ScriptNames::All) => false,
            Some(ScriptNames::Ends(ends)) => !is_source(path, ends),
        }
    }
}

/// Whether a name on the way begins with a dot. What certificates and others are asked for by is not hidden (RFC 8615).
fn is_hidden(path: &[u8]) -> bool {
    let path = path.strip_prefix(b"/.well-known/").unwrap_or(path);
    path.split(|&byte| byte == b'/').any(|segment| segment.starts_with(b"."))
}

/// Whether the name of a file says that it is a script, or was one: in other letters, as a copy or of another version.
fn is_source(path: &[u8], ends: &[String]) -> bool {
    let start = memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1);
    let name = path.get(start..).unwrap_or_default().to_ascii_lowercase();
    let known = ends.iter().map(String::as_bytes).chain(SOURCES);
    known.map(<[u8]>::to_ascii_lowercase).any(|end| has_end(&name, &end))
}

/// Ends of sources that servers have run by other names, and of what these include.
const SOURCES: [&[u8]; 6] = [b".php", b".phtml", b".phar", b".phps", b".pht", b".inc"];

/// Whether a name has an end with no letter behind it.
fn has_end(name: &[u8], end: &[u8]) -> bool {
    memchr::memmem::find_iter(name, end)
        .any(|at| name.get(at + end.len()).is_none_or(|next| !next.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_known_by_their_names() {
        let ends = [".php".to_owned(), ".PL".to_owned()];
        for path in [
            "/a.php",
            "/a.PHP",
            "/a.pHp5",
            "/a.php~",
            "/a.php.bak",
            "/a.php_old",
            "/a.php.",
            "/a.php ",
            "/b/a.phtml",
            "/a.inc",
            "/a.phar.gz",
            "/a.pl",
            "/.php",
        ] {
            assert!(is_source(path.as_bytes(), &ends), "{path}");
        }
        for path in
            ["/a.phpx.js", "/a.html", "/php", "/a.php/b.css", "/jquery.include.js", "/a.plain", "/", ""]
        {
            assert!(!is_source(path.as_bytes(), &ends), "{path}");
        }
    }

    #[test]
    fn hidden_files_have_a_dot_on_the_way() {
        for path in [
            "/.env",
            "/.git/config",
            "/a/.b/c",
            "/.well-known",
            "/.well-known/.x",
            "/a/.well-known/b",
            "/...",
        ] {
            assert!(is_hidden(path.as_bytes()), "{path}");
        }
        for path in ["/", "/a", "/a.b/c.d", "/.well-known/acme-challenge/x", ""] {
            assert!(!is_hidden(path.as_bytes()), "{path}");
        }
    }
}
