//! The files that a host executable consists of: what has to be there for it to run in another root, and to
//! be readable where little is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use corral_sys::linkage;

use crate::language::Language;

/// Files that programs of every language open.
const COMMON: [&str; 5] = ["/etc/ld.so.cache", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// The files of this program, and those that the language adds.
pub(crate) fn of(language: &Language) -> Vec<PathBuf> {
    of_program((language.files)())
}

/// The folders of this program's shared libraries, and what is `further`. None is below another one.
#[must_use]
pub fn of_program(further: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let libraries = linkage::loaded_libraries();
    // A library is known by the name that the loader looks for, and is in the file that this leads to.
    let files: Vec<_> = libraries.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let mut paths = library_folders(&libraries.into_iter().chain(files).collect());
    paths.extend(further);
    paths.extend(COMMON.map(PathBuf::from));
    without_nested(paths)
}

/// The folder of each library, as others may be loaded later that lie beside it; but only the file itself where
/// its folder holds the folders of other libraries, and with them much that has nothing to do with it.
fn library_folders(libraries: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let folders: BTreeSet<_> = libraries.iter().filter_map(|path| path.parent()).collect();
    let is_above_another =
        |folder: &Path| folders.iter().any(|other| *other != folder && other.starts_with(folder));
    let path = |library: &PathBuf| match library.parent() {
        Some(folder) if !is_above_another(folder) => folder.to_owned(),
        _ => library.clone(),
    };
    libraries.iter().map(path).collect()
}

fn without_nested(paths: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    // A folder comes before what is in it.
    for path in paths {
        if !kept.iter().any(|other| path.starts_with(other)) {
            kept.push(path);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> BTreeSet<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn libraries_come_with_their_folders() {
        let debian =
            set(&["/usr/lib/libphp8.2.so", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux.so.2"]);
        let expected = set(&["/usr/lib/libphp8.2.so", "/usr/lib/x86_64-linux-gnu", "/lib64"]);
        assert_eq!(library_folders(&debian), expected);
        assert_eq!(
            library_folders(&set(&["/usr/lib64/libphp.so", "/usr/lib64/libc.so.6"])),
            set(&["/usr/lib64"])
        );
    }

    #[test]
    fn what_is_in_a_folder_is_not_named_again() {
        let paths = set(&["/a/b", "/a", "/a.b", "/c/d", "/c/d/e/f"]);
        assert_eq!(without_nested(paths), ["/a", "/a.b", "/c/d"].map(PathBuf::from));
    }
}
