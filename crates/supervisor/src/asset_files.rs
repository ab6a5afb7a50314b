//! The folders `certs` and `scripts` of the state directory: one file for each uploaded content
//! (contract 2.1); `acme`, with one for each record about certificates that are ordered; and `history`, with one for
//! each configuration that was in force. Names are any text, so those that no file can have are encoded.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use corral_config::plan::{Asset, AssetKind, Assets};
use corral_ipc::history::{MOST_BYTES, StoredConfiguration};

use crate::replacing::{replace, sync_names};

/// Why a content was not stored or removed.
#[derive(Debug, thiserror::Error)]
#[error("{action} \"{}\"", path.display())]
pub(crate) struct AssetError {
    action: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl AssetError {
    /// Whether there is no room on the disk.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}

/// All contents of a state directory. What cannot be read is left out and logged.
pub(crate) fn read_all(directory: &Path) -> Assets {
    let mut assets = Assets::default();
    for kind in [AssetKind::Certificate, AssetKind::Script] {
        for (name, bytes) in read_folder(&directory.join(folder(kind)), MAX_FILE) {
            assets.set(kind, &name, Some(bytes));
        }
    }
    assets
}

/// All records about certificates that are ordered, as `read_all`.
pub(crate) fn read_records(directory: &Path) -> Vec<Asset> {
    let records = read_folder(&directory.join(RECORDS), MAX_FILE).into_iter();
    records.map(|(name, bytes)| Asset { name, bytes }).collect()
}

/// All configurations that were in force, oldest first, as `read_all`.
pub(crate) fn read_history(directory: &Path) -> Vec<StoredConfiguration> {
    let files = read_folder(&directory.join(HISTORY), MOST_BYTES as u64).into_iter();
    let configuration = |(name, bytes): (String, Vec<u8>)| match number(&name) {
        Some(id) => Some(StoredConfiguration { id, bytes }),
        None => {
            tracing::warn!("\"{name}\" in the folder \"{HISTORY}\" is skipped: its name is not a number");
            None
        }
    };
    files.filter_map(configuration).collect()
}

/// In the order of the names.
fn read_folder(folder: &Path, longest: u64) -> Vec<(String, Vec<u8>)> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            tracing::error!("read the folder \"{}\": {error}", folder.display());
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let file = entry.file_name();
        let Some(name) = file.to_str().and_then(decode) else {
            tracing::warn!("\"{}\" is skipped: its name stands for nothing", entry.path().display());
            continue;
        };
        match read_file(&entry.path(), longest) {
            Ok(bytes) => found.push((name, bytes)),
            Err(error) => tracing::error!("\"{}\" is skipped: {error}", entry.path().display()),
        }
    }
    found.sort();
    found
}

fn read_file(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let meta = fs::metadata(path)?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if meta.len() > longest {
        return Err(io::Error::other(format!("it is longer than {longest} bytes")));
    }
    fs::read(path)
}

/// Stores one content so that at any moment the whole old or the whole new one is there, or removes
/// it.
pub(crate) fn set(
    directory: &Path,
    kind: AssetKind,
    name: &str,
    bytes: Option<&[u8]>,
) -> Result<(), AssetError> {
    set_in(&directory.join(folder(kind)), name, bytes)
}

/// As `set`, for a record.
pub(crate) fn set_record(directory: &Path, name: &str, bytes: Option<&[u8]>) -> Result<(), AssetError> {
    set_in(&directory.join(RECORDS), name, bytes)
}

/// As `set`, for a configuration that was in force.
pub(crate) fn set_history(directory: &Path, configuration: &StoredConfiguration) -> Result<(), AssetError> {
    let StoredConfiguration { id, bytes } = configuration;
    set_in(&directory.join(HISTORY), &file_name(*id), Some(bytes))
}

/// Removes configurations that were in force, as many of them as can be. A disk may take long to be sure of what it
/// has, and is waited for once.
pub(crate) fn remove_history(directory: &Path, ids: &BTreeSet<u32>) -> Result<(), AssetError> {
    let folder = directory.join(HISTORY);
    let (mut is_changed, mut result) = (false, Ok(()));
    for path in ids.iter().map(|id| folder.join(file_name(*id))) {
        match unlink(&path) {
            Ok(is_removed) => is_changed |= is_removed,
            Err(source) => result = Err(AssetError { action: "remove", path, source }),
        }
    }
    let synced = if is_changed { sync_names(&folder) } else { Ok(()) };
    synced.map_err(|source| AssetError { action: "remove from", path: folder, source })?;
    result
}

/// The name has one length, so that names are in the order of the numbers.
fn file_name(id: u32) -> String {
    format!("{id:010}")
}

/// The number that a file's name says.
fn number(name: &str) -> Option<u32> {
    let id = name.parse().ok()?;
    (file_name(id) == name).then_some(id)
}

fn set_in(folder: &Path, name: &str, bytes: Option<&[u8]>) -> Result<(), AssetError> {
    let path = folder.join(&*encode(name));
    let (action, result) = match bytes {
        Some(bytes) => ("write", write(folder, &path, bytes)),
        None => ("remove", remove(folder, &path)),
    };
    result.map_err(|source| AssetError { action, path, source })
}

fn write(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    replace(folder, path, &folder.join(TEMPORARY), bytes)
}

fn remove(folder: &Path, path: &Path) -> io::Result<()> {
    if unlink(path)? { sync_names(folder) } else { Ok(()) }
}

/// Removes a file; false if there is none.
fn unlink(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

const RECORDS: &str = "acme";

const HISTORY: &str = "history";

fn folder(kind: AssetKind) -> &'static str {
    match kind {
        AssetKind::Certificate => "certs",
        AssetKind::Script => "scripts",
    }
}

/// The file for a name: the name itself, as Unit does it, unless no file can be called that.
fn encode(name: &str) -> Cow<'_, str> {
    let is_plain = !name.is_empty() && !name.contains(['/', '\0']) && name != "." && name != "..";
    if is_plain && !name.starts_with(MARK) {
        return Cow::Borrowed(name);
    }
    let mut encoded = MARK.to_owned();
    for character in name.chars() {
        match character {
            '/' => encoded.push_str("%2F"),
            '%' => encoded.push_str("%25"),
            '\0' => encoded.push_str("%00"),
            '.' => encoded.push_str("%2E"),
            other => encoded.push(other),
        }
    }
    Cow::Owned(encoded)
}

/// The name that a file stands for; `None` for one that `encode` never makes.
fn decode(file: &str) -> Option<String> {
    let Some(encoded) = file.strip_prefix(MARK) else { return Some(file.to_owned()) };
    let mut pieces = encoded.split('%');
    let mut name = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (code, rest) = piece.split_at_checked(2)?;
        name.push(match code {
            "2F" => '/',
            "25" => '%',
            "00" => '\0',
            "2E" => '.',
            _ => return None,
        });
        name.push_str(rest);
    }
    (encode(&name) == file).then_some(name)
}

/// How an encoded name starts.
const MARK: &str = "%:";

/// The file that is being written, under a name that stands for nothing.
const TEMPORARY: &str = "%:new";

/// Longest content that is read, in bytes: what is longer was not uploaded here.
const MAX_FILE: u64 = 64 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[track_caller]
    fn check_name(name: &str, file: &str) {
        assert_eq!(encode(name), file);
        assert_eq!(decode(file).as_deref(), Some(name));
    }

    #[test]
    fn names_are_files_where_they_can_be() {
        check_name("example.com", "example.com");
        check_name(".hidden", ".hidden");
        check_name("a b%2Fc", "a b%2Fc");
        check_name("é*", "é*");
        check_name("a/b", "%:a%2Fb");
        check_name("/", "%:%2F");
        check_name("..", "%:%2E%2E");
        check_name(".", "%:%2E");
        check_name("%:x", "%:%25:x");
        assert_eq!(decode(TEMPORARY), None);
        assert_eq!(decode("%:%2f"), None);
        assert_eq!(decode("%:%"), None);
    }

    #[test]
    fn contents_survive_with_their_permissions() {
        let state = tempfile::tempdir().unwrap();
        let directory = state.path();
        assert_eq!(read_all(directory), Assets::default());
        set(directory, AssetKind::Certificate, "../x", Some(b"1")).unwrap();
        set(directory, AssetKind::Certificate, "a", Some(b"old")).unwrap();
        set(directory, AssetKind::Certificate, "a", Some(b"2")).unwrap();
        set(directory, AssetKind::Script, "m", Some(b"3")).unwrap();
        set(directory, AssetKind::Script, "gone", Some(b"4")).unwrap();
        set(directory, AssetKind::Script, "gone", None).unwrap();
        set(directory, AssetKind::Script, "never", None).unwrap();
        let assets = read_all(directory);
        let names: Vec<_> = assets.certificates.iter().map(|asset| asset.name.as_str()).collect();
        assert_eq!(names, ["../x", "a"]);
        assert_eq!(assets.certificate("a").unwrap().bytes, b"2");
        assert_eq!(assets.scripts.len(), 1);
        let mode = |name: &str| fs::metadata(directory.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("certs"), mode("certs/a"), mode("scripts/m")), (0o700, 0o600, 0o600));
    }

    #[test]
    fn what_cannot_be_read_is_skipped() {
        let state = tempfile::tempdir().unwrap();
        let directory = state.path();
        set(directory, AssetKind::Certificate, "good", Some(b"1")).unwrap();
        fs::create_dir(directory.join("certs/folder")).unwrap();
        fs::write(directory.join("certs").join(TEMPORARY), "half").unwrap();
        std::os::unix::fs::symlink("nowhere", directory.join("certs/dangling")).unwrap();
        assert_eq!(read_all(directory).certificates.len(), 1);
    }

    #[test]
    fn configurations_are_read_in_their_order() {
        let state = tempfile::tempdir().unwrap();
        let directory = state.path();
        for id in [10, 9, 2, 4_000_000_000] {
            let bytes = u32::to_be_bytes(id).to_vec();
            set_history(directory, &StoredConfiguration { id, bytes }).unwrap();
        }
        remove_history(directory, &[1, 2].into()).unwrap();
        for name in ["3", "0000000003x", "+000000003", "9999999999", "notes"] {
            fs::write(directory.join("history").join(name), "x").unwrap();
        }
        let long = fs::File::create(directory.join("history/0000000004")).unwrap();
        long.set_len(MOST_BYTES as u64 + 1).unwrap();
        let found = read_history(directory);
        assert_eq!(found.iter().map(|one| one.id).collect::<Vec<_>>(), [9, 10, 4_000_000_000]);
        assert_eq!(found[0].bytes, 9u32.to_be_bytes());
        let meta = fs::metadata(directory.join("history/0000000009")).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn all_configurations_that_can_be_are_removed() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("history");
        remove_history(state.path(), &BTreeSet::new()).unwrap();
        fs::create_dir_all(folder.join("0000000002")).unwrap();
        for id in [1, 3] {
            set_history(state.path(), &StoredConfiguration { id, bytes: vec![] }).unwrap();
        }
        let error = remove_history(state.path(), &[1, 2, 3].into()).unwrap_err();
        assert!(error.to_string().ends_with("history/0000000002\""), "{error}");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
    }

    #[test]
    fn failures_name_the_file() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join("certs"), "a file").unwrap();
        let error = set(state.path(), AssetKind::Certificate, "a", Some(b"1")).unwrap_err();
        assert!(error.to_string().ends_with("certs/a\""), "{error}");
        let long = "x".repeat(300);
        assert!(set(state.path(), AssetKind::Script, &long, Some(b"1")).is_err());
        assert_eq!(fs::read_dir(state.path().join("scripts")).unwrap().count(), 0, "nothing is left");
    }
}
