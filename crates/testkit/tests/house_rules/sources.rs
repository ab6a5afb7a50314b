//! The files of this repository, as the rules read them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folders of all crates, by the names that reports give them.
pub(crate) fn crate_folders() -> BTreeMap<String, PathBuf> {
    let crates = fs::read_dir(repository().join("crates")).expect("the folder is there");
    let paths = crates.map(|entry| entry.expect("read the folder").path());
    let named = paths.map(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("crates have names");
        (name.to_owned(), path.clone())
    });
    named.chain([("tank".to_owned(), repository().join("lab/tank"))]).collect()
}

/// Every Rust source of every crate.
pub(crate) fn sources_of_crates() -> Vec<PathBuf> {
    crate_folders().values().flat_map(|folder| sources(folder)).collect()
}

/// Every Rust source below a folder, in order.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    files(folder, "rs")
}

/// Every file below a folder whose name ends with this extension, in order.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("read the folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

pub(crate) fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
