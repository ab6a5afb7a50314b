//! Recognises components of WebAssembly: a file, or the only one of a folder.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::folder::{entries, open};

/// How a component in the binary format begins. Modules, which sites send to browsers, begin otherwise.
const BEGIN: [u8; 8] = *b"\0asm\x0d\0\x01\0";

/// Where cargo puts what it builds for WASI.
const BUILT: &str = "target/wasm32-wasip2/release";

/// Whether a file is a component.
pub(super) fn is_component(file: &Path) -> bool {
    let mut begin = [0; BEGIN.len()];
    let read = open(file).is_some_and(|mut file| file.read_exact(&mut begin).is_ok());
    read && begin == BEGIN
}

/// The only component in a folder, or the one that a project of Rust was built to.
pub(super) fn find(project: &Path) -> Option<PathBuf> {
    only_one(project).or_else(|| only_one(&project.join(BUILT)))
}

fn only_one(folder: &Path) -> Option<PathBuf> {
    let is_wasm = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "wasm");
    let mut components = entries(folder).into_iter().filter(|path| is_wasm(path) && is_component(path));
    let first = components.next()?;
    // With several, the right one is not known.
    components.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A folder with these files, each with how it begins.
    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    #[track_caller]
    fn check(files: &[(&str, &[u8])], expected: Option<&str>) {
        let folder = folder(files);
        assert_eq!(find(folder.path()), expected.map(|name| folder.path().join(name)));
    }

    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0...";
    const MODULE: &[u8] = b"\0asm\x01\0\0\0...";

    #[test]
    fn the_only_component_is_found() {
        check(&[("app.wasm", COMPONENT), ("index.html", b"")], Some("app.wasm"));
        check(&[("app.wasm", COMPONENT), ("core.wasm", MODULE)], Some("app.wasm"));
        check(
            &[("Cargo.toml", b""), ("target/wasm32-wasip2/release/app.wasm", COMPONENT)],
            Some("target/wasm32-wasip2/release/app.wasm"),
        );
    }

    #[test]
    fn what_browsers_run_is_no_component() {
        check(&[("game.wasm", MODULE), ("index.html", b"")], None);
        check(&[("app.bin", COMPONENT)], None);
        check(&[("a.wasm", COMPONENT), ("b.wasm", COMPONENT)], None);
        check(&[("a.wasm", b"")], None);
    }
}
