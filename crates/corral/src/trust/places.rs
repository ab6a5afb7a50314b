//! Where browsers of a user keep their stores.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder for a store of NSS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NssFolder {
    /// The programs that read it.
    pub(super) of: &'static str,
    pub(super) folder: PathBuf,
}

/// The file that makes a folder a store.
const STORE: &str = "cert9.db";

/// The store that Chromium and its kin share.
const CHROMIUM: &str = "Chromium and its like";

/// Their programs: where one is installed, its store may be made before it is started for the first time.
const PROGRAMS: [&str; 7] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "brave-browser",
    "microsoft-edge",
    "vivaldi",
];

/// Below a home: stores of Chromium, as it is, in a snap, and in a Flatpak. `*` stands for any one folder.
const CHROMIUM_STORES: [&str; 5] = [
    ".local/share/pki/nssdb",
    "snap/*/current/.pki/nssdb",
    "snap/*/common/.pki/nssdb",
    ".var/app/*/.pki/nssdb",
    ".var/app/*/data/pki/nssdb",
];

/// Below a home: profiles of Firefox, each with a store.
const FIREFOX_PROFILES: [&str; 5] = [
    ".mozilla/firefox/*",
    ".config/mozilla/firefox/*",
    "snap/firefox/common/.mozilla/firefox/*",
    ".var/app/org.mozilla.firefox/.mozilla/firefox/*",
    ".var/app/org.mozilla.firefox/config/mozilla/firefox/*",
];

impl NssFolder {
    pub(super) fn has_store(&self) -> bool {
        self.folder.join(STORE).exists()
    }
}

/// The stores that a user has named.
pub(super) fn named(folders: &[PathBuf]) -> Vec<NssFolder> {
    folders.iter().map(|folder| NssFolder { of: "store", folder: folder.clone() }).collect()
}

/// The stores of all browsers of a user.
pub(super) fn found_in(home: &Path) -> Vec<NssFolder> {
    found(home, is_chromium_installed())
}

fn found(home: &Path, is_chromium_installed: bool) -> Vec<NssFolder> {
    let common = NssFolder { of: CHROMIUM, folder: home.join(".pki/nssdb") };
    let common = (is_chromium_installed || common.has_store()).then_some(common);
    let below = |of: &'static str, patterns: &[&'static str]| {
        let folders: Vec<_> = patterns.iter().flat_map(|pattern| matching(home, pattern)).collect();
        folders.into_iter().map(move |folder| NssFolder { of, folder }).filter(NssFolder::has_store)
    };
    let more = below(CHROMIUM, &CHROMIUM_STORES).chain(below("Firefox", &FIREFOX_PROFILES));
    common.into_iter().chain(more).collect()
}

fn is_chromium_installed() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| PROGRAMS.iter().any(|name| folder.join(name).is_file()))
}

/// Folders below another one that a pattern stands for, in the order of their names.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    pattern.split('/').fold(vec![folder.to_owned()], |folders, part| {
        folders.iter().flat_map(|folder| step(folder, part)).collect()
    })
}

fn step(folder: &Path, part: &str) -> Vec<PathBuf> {
    if part != "*" {
        return vec![folder.join(part)];
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_shown = |name: &OsStr| !name.as_encoded_bytes().starts_with(b".");
    let mut found: Vec<_> =
        entries.filter(|entry| is_shown(&entry.file_name())).map(|entry| entry.path()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(stores: &[&str]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for store in stores {
            let folder = home.path().join(store);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(STORE), "").unwrap();
        }
        home
    }

    #[track_caller]
    fn check(stores: &[&str], is_chromium_installed: bool, expected: &[&str]) {
        let home = home(stores);
        let found = found(home.path(), is_chromium_installed);
        let found: Vec<_> =
            found.iter().map(|place| place.folder.strip_prefix(home.path()).unwrap()).collect();
        assert_eq!(found, expected.iter().map(Path::new).collect::<Vec<_>>());
    }

    #[test]
    fn stores_are_found_where_browsers_have_them() {
        check(&[], false, &[]);
        check(&[], true, &[".pki/nssdb"]);
        let all = [
            ".pki/nssdb",
            ".local/share/pki/nssdb",
            "snap/chromium/current/.pki/nssdb",
            ".var/app/org.chromium.Chromium/data/pki/nssdb",
            ".mozilla/firefox/a.default",
            ".mozilla/firefox/b.dev",
            "snap/firefox/common/.mozilla/firefox/c.default",
        ];
        check(&all, false, &all);
    }

    #[test]
    fn folders_without_a_store_are_passed_over() {
        let home = home(&[".mozilla/firefox/a.default"]);
        fs::create_dir_all(home.path().join(".mozilla/firefox/Crash Reports")).unwrap();
        fs::create_dir_all(home.path().join(".pki/nssdb")).unwrap();
        assert_eq!(found(home.path(), false).len(), 1);
    }
}
