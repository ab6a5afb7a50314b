//! One target of an application: finds the script that answers a path.

use std::collections::HashMap;
use std::ffi::{CString, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{self, Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use corral_cgi::script::{Meaning, meaning};
use corral_config::plan::PhpTarget;
use corral_config::root;
use corral_worker::complain;
use rustix::io::Errno;

use crate::module::{PhpString, SapiModule};
use crate::tracked::Tracked;

/// How long a script that was found is believed to be there. A script that goes away meanwhile is
/// still answered by opcache, which looks at files no more often.
const TRUST: Duration = Duration::from_secs(1);

/// The extensions that end the name of a script.
const EXTENSIONS: &[&str] = &[".php"];

/// Scripts remembered for one target; an application with more names than that is made of files
/// that come and go.
const MAX_REMEMBERED: usize = 4096;

/// A folder of scripts and the rules by which paths lead to them.
pub(crate) struct ScriptFolder {
    target: PhpTarget,
    place: Tracked,
    /// Absolute, without symbolic links and without a slash at its end.
    root: Vec<u8>,
    document_root: PhpString,
    rule: PathRule,
    /// The target's present content cannot be used.
    is_lost: bool,
}

enum PathRule {
    /// One script answers everything.
    Fixed { name: Vec<u8>, script: PhpScript, place: Tracked },
    /// The path names the script.
    ByPath { index: Vec<u8>, found: Box<ScriptCache> },
}

/// A script that exists.
pub(crate) struct PhpScript {
    pub(crate) path: PhpString,
    /// For log lines: the path once more.
    pub(crate) label: Box<[u8]>,
    pub(crate) directory: CString,
}

/// The script for a request, and how the path was divided for it.
pub(crate) struct Chosen<'a> {
    /// Without a slash at its end.
    pub(crate) root: &'a [u8],
    pub(crate) document_root: &'a PhpString,
    pub(crate) script: &'a PhpScript,
    /// The path of the script below the root, with a leading slash.
    pub(crate) script_name: &'a [u8],
    /// Empty or starting with a slash.
    pub(crate) path_info: &'a [u8],
}

/// A worker's script, for as long as its process lives.
pub(crate) struct ScriptPlace {
    root: Vec<u8>,
    document_root: PhpString,
    script: PhpScript,
    name: Vec<u8>,
}

impl ScriptPlace {
    /// Finds the script: where it says, below the root, or below the working directory.
    ///
    /// # Errors
    /// When the root or the script does not exist.
    pub(crate) fn of_worker(module: &SapiModule, root: &Path, script: &Path) -> anyhow::Result<Self> {
        let root = root.canonicalize().with_context(|| format!("find the root \"{}\"", root.display()))?;
        let below_root = root.join(script);
        let path = [&*below_root, script].into_iter().find_map(|path| path.canonicalize().ok());
        let path = path.filter(|path| path.is_file()).with_context(|| {
            let (script, root) = (script.display(), root.display());
            format!("find the worker's script \"{script}\" in \"{root}\" or in the working directory")
        })?;
        let below = path.strip_prefix(&root).ok().or(path.file_name().map(Path::new)).unwrap_or(&path);
        let name = [b"/", below.as_os_str().as_bytes()].concat();
        let root = root.into_os_string().into_encoded_bytes();
        let document_root = module.string(&root);
        let root = without_slash(root);
        Ok(Self { root, document_root, script: PhpScript::new(module, path)?, name })
    }

    /// For log lines: the path of the script.
    pub(crate) fn label(&self) -> &[u8] {
        &self.script.label
    }

    /// The script for a decoded, normalised path: what is behind the script's own name is `PATH_INFO`.
    pub(crate) fn chosen<'a>(&'a self, path: &'a [u8]) -> Chosen<'a> {
        let Self { root, document_root, script, name } = self;
        let path_info = path.strip_prefix(&**name).filter(|rest| rest.starts_with(b"/")).unwrap_or_default();
        Chosen { root, document_root, script, script_name: name, path_info }
    }
}

/// The thing that a path leads to.
pub(crate) enum Resolved<'a> {
    /// Run this.
    Run(Chosen<'a>),
    /// The path names a folder; its slash is missing.
    Folder,
    /// Answer with this status and nothing else.
    Refuse(u16),
}

impl ScriptFolder {
    /// Checks a target and prepares it.
    ///
    /// # Errors
    /// When the root or the script does not exist, or the script lies elsewhere.
    pub(crate) fn open(module: &SapiModule, target: &PhpTarget) -> anyhow::Result<Self> {
        // Scripts change the working directory.
        let root = path::absolute(&target.root);
        let place = root.and_then(Tracked::resolve);
        let place = place.with_context(|| format!("find the root \"{}\"", target.root.display()))?;
        let root = place.path();
        ensure!(root.is_dir(), "the root \"{}\" is not a directory", root.display());
        let rule = match &target.script {
            Some(script) => PathRule::fixed(module, root, script)?,
            None => PathRule::ByPath { index: target.index.clone().into_bytes(), found: Box::default() },
        };
        let root = root.as_os_str().as_bytes();
        let document_root = module.string(root);
        let root = without_slash(root.to_vec());
        let target = PhpTarget { root: place.given().to_owned(), ..target.clone() };
        Ok(Self { target, place, root, document_root, rule, is_lost: false })
    }

    /// Goes where the links on the way lead now: a deployment may have moved one since the last request, and files of
    /// the new release are served from that moment on. What cannot be used changes nothing.
    fn follow(&mut self, module: &SapiModule) {
        if self.place.is_current() && self.rule.is_current() {
            self.is_lost = false;
            return;
        }
        match Self::open(module, &self.target) {
            Ok(site) => {
                module.forget_paths();
                *self = site;
            }
            Err(error) if !self.is_lost => {
                self.is_lost = true;
                complain(format_args!("{error:#}; scripts still run in \"{}\"", self.place.path().display()));
            }
            Err(_) => {}
        }
    }

    /// Finds the script for a decoded, normalised path.
    pub(crate) fn resolve<'a>(&'a mut self, module: &SapiModule, path: &'a [u8]) -> Resolved<'a> {
        self.follow(module);
        let (root, document_root) = (&*self.root, &self.document_root);
        let (index, found) = match &mut self.rule {
            PathRule::Fixed { name, script, .. } => {
                let script_name = name;
                return Resolved::Run(Chosen { root, document_root, script, script_name, path_info: b"" });
            }
            PathRule::ByPath { index, found } => (index, found),
        };
        let (name, path_info) = match meaning(path, EXTENSIONS) {
            Meaning::Script { name, path_info } => ([name, b""], path_info),
            Meaning::Index => ([path, index.as_slice()], b"".as_slice()),
            Meaning::Other => return look_for_folder(root, path),
        };
        match found.script(module, root, name) {
            Ok((script, script_name)) => {
                Resolved::Run(Chosen { root, document_root, script, script_name, path_info })
            }
            Err(status) => Resolved::Refuse(status),
        }
    }
}

impl PathRule {
    fn fixed(module: &SapiModule, root: &Path, script: &Path) -> anyhow::Result<Self> {
        let relative = script.strip_prefix("/").unwrap_or(script);
        let place = Tracked::resolve(root.join(relative))
            .with_context(|| format!("find the script \"{}\" in \"{}\"", script.display(), root.display()))?;
        let path = place.path();
        let below = path.strip_prefix(root).ok().filter(|_| path.is_file());
        let below = below.with_context(|| {
            format!("the script \"{}\" is not a file in \"{}\"", script.display(), root.display())
        })?;
        let name = [b"/", below.as_os_str().as_bytes()].concat();
        Ok(Self::Fixed { name, script: PhpScript::new(module, path.to_owned())?, place })
    }

    /// Whether a script that is a link, or behind one, is where it was.
    fn is_current(&self) -> bool {
        match self {
            Self::Fixed { place, .. } => !place.is_linked() || place.is_current(),
            Self::ByPath { .. } => true,
        }
    }
}

impl PhpScript {
    fn new(module: &SapiModule, path: PathBuf) -> anyhow::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("/")).as_os_str().as_bytes();
        let directory = CString::new(directory).context("the path of the script contains a NUL")?;
        let bytes = path.into_os_string().into_encoded_bytes();
        Ok(Self { path: module.string(&bytes), label: bytes.into(), directory })
    }
}

/// Scripts by the path below the root, with the time of the last look at the file.
#[derive(Default)]
struct ScriptCache {
    scripts: HashMap<Box<[u8]>, (PhpScript, Instant)>,
    /// The name that was looked for last; a buffer that is used again.
    name: Vec<u8>,
}

impl ScriptCache {
    /// The script of that name, given in two pieces, and the whole name; or a status.
    fn script(
        &mut self,
        module: &SapiModule,
        root: &[u8],
        name: [&[u8]; 2],
    ) -> Result<(&PhpScript, &[u8]), u16> {
        self.name.clear();
        self.name.extend_from_slice(name[0]);
        self.name.extend_from_slice(name[1]);
        self.ensure_known(module, root)?;
        let (script, _) = self.scripts.get(self.name.as_slice()).ok_or(404_u16)?;
        Ok((script, &self.name))
    }

    /// Looks at the file unless it was there a moment ago.
    fn ensure_known(&mut self, module: &SapiModule, root: &[u8]) -> Result<(), u16> {
        let now = Instant::now();
        let seen = self.scripts.get(self.name.as_slice()).map(|(_, seen)| *seen);
        if seen.is_some_and(|seen| now.duration_since(seen) < TRUST && module.has_opcache()) {
            return Ok(());
        }
        let path = below(root, &self.name);
        let metadata = fs::metadata(&path).map_err(|error| status_of(&error));
        if !metadata.as_ref().is_ok_and(fs::Metadata::is_file) {
            self.scripts.remove(self.name.as_slice());
            return Err(metadata.err().unwrap_or(404));
        }
        match self.scripts.get_mut(self.name.as_slice()) {
            Some((_, seen)) => *seen = now,
            None => self.remember(PhpScript::new(module, path).map_err(|_| 404_u16)?, now),
        }
        Ok(())
    }

    fn remember(&mut self, script: PhpScript, now: Instant) {
        if self.scripts.len() >= MAX_REMEMBERED {
            self.scripts.clear();
        }
        self.scripts.insert(self.name.as_slice().into(), (script, now));
    }
}

fn without_slash(root: Vec<u8>) -> Vec<u8> {
    if root == b"/" { Vec::new() } else { root }
}

fn below(root: &[u8], name: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(root::join(root, name)))
}

/// Other files are never served and not even admitted: they may be the program's own.
fn look_for_folder<'a>(root: &[u8], path: &[u8]) -> Resolved<'a> {
    match fs::metadata(below(root, path)) {
        Ok(metadata) if metadata.is_dir() => Resolved::Folder,
        Ok(_) => Resolved::Refuse(404),
        Err(error) => Resolved::Refuse(status_of(&error)),
    }
}

fn status_of(error: &io::Error) -> u16 {
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS | Errno::LOOP) => 403,
        _ => 404,
    }
}
