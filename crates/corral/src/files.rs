//! Finds configuration files, what lies beside them, and what they name (`--config`, `corral check`).
//!
//! A folder stands for its `*.json`, `*.jsonc`, `*.yaml` and `*.yml` in the order of their names.
//! `certificates/NAME.pem` and `js_modules/NAME.js` beside a file are assets of the configuration.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use corral_config::Config;
use corral_config::plan::{AssetKind, Assets};
use corral_manifest::{Fault, Format, Manifest, Source, Surroundings};
use corral_sys::notify::Notice;

use crate::client;

/// A configuration as its files say it.
#[derive(Debug)]
pub(crate) struct ReadConfiguration {
    pub(crate) manifest: Manifest,
    pub(crate) assets: Assets,
    /// Which of the two folders of assets there are.
    pub(crate) has_folder: HasFolder,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HasFolder {
    pub(crate) certificates: bool,
    pub(crate) scripts: bool,
}

/// One line for each thing that is wrong.
pub(crate) type Problems = Vec<String>;

/// Everything that was looked at, each as it was just before, so that changes can be noticed.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    files: RefCell<Vec<(PathBuf, FileState)>>,
    variables: RefCell<BTreeSet<String>>,
}

/// A state of a file or folder, to be compared with a later one; `None` when there is none. A file that is replaced, as
/// by a symbolic link that leads elsewhere now, has another inode.
pub(crate) type FileState = Option<[i64; 5]>;

impl Seen {
    fn note(&self, path: &Path) {
        self.files.borrow_mut().push((path.to_owned(), state(path)));
    }

    /// The states when each was looked at.
    pub(crate) fn before(&self) -> Vec<FileState> {
        self.files.borrow().iter().map(|(_, state)| *state).collect()
    }

    /// Is told of changes from now on, where the kernel tells of all.
    pub(crate) fn notice(&self) -> Option<Notice> {
        let paths = self.files.borrow();
        let absolute =
            paths.iter().map(|(path, _)| std::path::absolute(path)).collect::<io::Result<Vec<_>>>();
        // Without a `Notice`, the caller can compare states.
        absolute.and_then(Notice::new).ok().flatten()
    }

    /// The states now.
    pub(crate) fn now(&self) -> Vec<FileState> {
        self.files.borrow().iter().map(|(path, _)| state(path)).collect()
    }

    /// The variables of the environment that were asked for.
    pub(crate) fn variables(&self) -> Vec<String> {
        self.variables.borrow().iter().cloned().collect()
    }
}

fn state(path: &Path) -> FileState {
    let data = fs::metadata(path).ok()?;
    let [device, inode, size] = [data.dev(), data.ino(), data.size()].map(u64::cast_signed);
    Some([device, inode, size, data.mtime(), data.mtime_nsec()])
}

/// Looks through the files that a configuration has clients checked by.
pub(crate) fn check_authentication(config: &Config, manifest: &Manifest) -> Result<(), Problems> {
    let problems = corral_auth::files::check(config);
    if problems.is_empty() { Ok(()) } else { Err(lines(&manifest.locate(&problems))) }
}

/// Reads all files. `seen` is filled in any case.
pub(crate) fn read(paths: &[PathBuf], seen: &Seen) -> Result<ReadConfiguration, Problems> {
    let mut problems = Problems::new();
    let mut sources = Vec::new();
    let mut assets = Assets::default();
    let mut has_folder = HasFolder::default();
    for path in paths {
        match find(path, seen) {
            Ok(files) => {
                sources.extend(files.iter().filter_map(|file| keep(source(file, seen), &mut problems)));
            }
            Err(problem) => problems.push(problem),
        }
        let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
        if let Some(folder) = folder.filter(|_| path != Path::new("-")) {
            let certificates = folder.join("certificates");
            let scripts = folder.join("js_modules");
            has_folder.certificates |=
                read_assets(&certificates, AssetKind::Certificate, &mut assets, seen, &mut problems);
            has_folder.scripts |= read_assets(&scripts, AssetKind::Script, &mut assets, seen, &mut problems);
        }
    }
    if sources.is_empty() && problems.is_empty() {
        problems.extend(paths.iter().map(|path| nothing_in(path)));
    }
    let manifest = corral_manifest::read(&sources, &MachineFacts { seen });
    match manifest {
        Ok(manifest) if problems.is_empty() => Ok(ReadConfiguration { manifest, assets, has_folder }),
        Ok(_) => Err(problems),
        Err(faults) => {
            problems.extend(lines(&faults));
            Err(problems)
        }
    }
}

/// Faults as lines.
pub(crate) fn lines(faults: &[Fault]) -> Problems {
    faults.iter().map(ToString::to_string).collect()
}

fn keep<T>(result: Result<T, String>, problems: &mut Problems) -> Option<T> {
    result.map_err(|problem| problems.push(problem)).ok()
}

/// The files that a path stands for.
fn find(path: &Path, seen: &Seen) -> Result<Vec<PathBuf>, String> {
    seen.note(path);
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let is_configuration = |name: &str| !name.starts_with('.') && Format::of_name(name).is_some();
    files_in(path, is_configuration)
}

/// A folder may be empty beside others, such as a `conf.d` which a package brings.
fn nothing_in(path: &Path) -> String {
    format!("{}: there is no configuration in this folder: no *.json, *.yaml or *.yml", path.display())
}

/// In the order of their names.
fn files_in(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| format!("{}: {}", folder.display(), reason(&error)))?;
    let is_wanted = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(&is_wanted) && !path.is_dir()
    };
    let mut found: Vec<_> = entries.into_iter().map(|entry| entry.path()).filter(is_wanted).collect();
    found.sort();
    Ok(found)
}

fn source(path: &Path, seen: &Seen) -> Result<Source, String> {
    if path == Path::new("-") {
        let text = client::read_input(path).map_err(|error| format!("{error:#}"))?;
        let format = Format::guess(&text);
        return Ok(Source { name: "standard input".to_owned(), text, format });
    }
    let name = path.display().to_string();
    seen.note(path);
    let text = contents(path).map_err(|reason| format!("{name}: {reason}"))?;
    let format = Format::of_name(&name).unwrap_or_else(|| Format::guess(&text));
    Ok(Source { name, text, format })
}

/// Whether there is such a folder.
fn read_assets(
    folder: &Path,
    kind: AssetKind,
    assets: &mut Assets,
    seen: &Seen,
    problems: &mut Problems,
) -> bool {
    seen.note(folder);
    if !folder.is_dir() {
        return false;
    }
    let extension = match kind {
        AssetKind::Certificate => ".pem",
        AssetKind::Script => ".js",
    };
    let is_wanted =
        |name: &str| name.len() > extension.len() && name.ends_with(extension) && !name.starts_with('.');
    for path in keep(files_in(folder, is_wanted), problems).unwrap_or_default() {
        seen.note(&path);
        let bytes = contents(&path).and_then(|bytes| match kind {
            AssetKind::Certificate => corral_controller::check_key(&bytes).map(|()| bytes),
            AssetKind::Script => Ok(bytes),
        });
        let bytes = bytes.map_err(|reason| format!("{}: {reason}", path.display()));
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some(bytes) = keep(bytes, problems) {
            assets.set(kind, &name, Some(bytes));
        }
    }
    true
}

/// The names of all contents of one kind.
pub(crate) fn names(assets: &Assets, kind: AssetKind) -> Vec<String> {
    assets.of_kind(kind).iter().map(|asset| asset.name.clone()).collect()
}

/// The environment and the files of this machine.
struct MachineFacts<'a> {
    seen: &'a Seen,
}

impl Surroundings for MachineFacts<'_> {
    fn variable(&self, name: &str) -> Option<Vec<u8>> {
        self.seen.variables.borrow_mut().insert(name.to_owned());
        std::env::var_os(name).map(OsStringExt::into_vec)
    }

    /// A relative path starts at the folder of the file that names it.
    fn file(&self, path: &str, source: &str) -> Result<Vec<u8>, String> {
        let path = Path::new(source).parent().unwrap_or(Path::new("")).join(path);
        self.seen.note(&path);
        contents(&path)
    }
}

/// Larger files are not part of a configuration.
const LARGEST_FILE: u64 = 16 * 1024 * 1024;

fn contents(path: &Path) -> Result<Vec<u8>, String> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) if bytes.len() as u64 > LARGEST_FILE => {
            Err(format!("it is longer than {LARGEST_FILE} bytes"))
        }
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(reason(&error)),
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "this user may not read it".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
