//! Finds the host executables and asks each what it is.

mod describe;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use corral_ipc::message::Module;
use corral_sys::user::Credentials;

use self::describe::describe;

/// The hosts that were found in a folder.
#[derive(Debug, Default)]
pub struct FoundModules {
    /// The hosts that answered, in the order of their file names.
    pub modules: Vec<Module>,
    /// One line for each host that did not.
    pub problems: Vec<String>,
}

/// Runs `describe` of every executable `corral-*` in `folder`, as `user` if given, and looks for the launcher of Java.
///
/// # Errors
/// When the folder cannot be read. A host that fails is only a problem.
pub fn detect(folder: &Path, user: Option<&Credentials>) -> anyhow::Result<FoundModules> {
    let mut found = FoundModules::default();
    for path in
        candidates(folder).with_context(|| format!("read the modules' folder {}", folder.display()))?
    {
        match describe(&path, user) {
            Ok(module) => found.modules.push(module),
            Err(error) => found.problems.push(format!("module \"{}\": {error:#}", path.display())),
        }
    }
    found.modules.extend(java(folder));
    // Of two with the same language and version the first counts (contract 20).
    let mut seen = Vec::new();
    found.modules.retain(|module| {
        let name = (module.language.clone(), module.version.clone());
        let is_new = !seen.contains(&name);
        seen.push(name);
        is_new
    });
    Ok(found)
}

/// The launcher of web applications is not an executable: a folder beside the others, or where `make install` puts it.
fn java(folder: &Path) -> Option<Module> {
    let folders = [folder.join("corral-java"), folder.join("../share/corral/java")];
    let folder = folders.into_iter().find(|folder| folder.join(LAUNCHER).is_file())?;
    let folder = fs::canonicalize(folder).ok()?;
    // That of the container of servlets.
    let version = fs::read_to_string(folder.join("version")).ok()?.trim().to_owned();
    let path = folder.join(LAUNCHER);
    Some(Module { language: "java".to_owned(), version, path, dependencies: vec![folder] })
}

const LAUNCHER: &str = "launcher.jar";

/// Programs of this project other than hosts: the load generator, which is built into the same folder.
const OTHERS: [&[u8]; 1] = [b"corral-tank"];

fn candidates(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
        let is_named_so = name.starts_with(b"corral-") && !OTHERS.contains(&name);
        if is_named_so && is_program(&path) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// An ELF file that may be executed: build folders hold debug data and notes with similar names.
fn is_program(path: &Path) -> bool {
    let may_run =
        fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    let mut magic = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    may_run && read.is_ok() && &magic == b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_executables_of_that_name_are_asked() {
        let folder = tempfile::tempdir().unwrap();
        let link = |name: &str, to: &str| symlink(to, folder.path().join(name)).unwrap();
        link("corral", "/bin/echo");
        link("corral-echo", "/bin/echo");
        link("corral-false", "/bin/false");
        link("corral-folder", "/bin");
        link("corral-text", "/etc/passwd");
        link("corral-lost", "/no/such/file");
        link("corral-tank", "/bin/false");
        link("other", "/bin/false");
        fs::write(folder.path().join("corral-notes.d"), "text").unwrap();
        let found = detect(folder.path(), None).unwrap();
        // `echo describe` prints one word, `false` nothing.
        let asked =
            ["corral-echo", "corral-false"].map(|name| folder.path().join(name).display().to_string());
        assert_eq!(
            found.problems,
            [
                format!(
                    "module \"{}\": `describe` answered \"describe\" in place of a language and a version",
                    asked[0]
                ),
                format!("module \"{}\": `describe` exited with code 1", asked[1]),
            ]
        );
        assert!(found.modules.is_empty());
        assert!(detect(Path::new("/no/such/folder"), None).is_err());
    }

    #[test]
    fn the_launcher_of_java_is_found_in_both_places() {
        for place in ["bin/corral-java", "share/corral/java"] {
            let prefix = tempfile::tempdir().unwrap();
            let (bin, folder) = (prefix.path().join("bin"), prefix.path().join(place));
            fs::create_dir_all(&bin).unwrap();
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("version"), "12.0\n").unwrap();
            assert!(detect(&bin, None).unwrap().modules.is_empty());
            fs::write(folder.join(LAUNCHER), "").unwrap();
            let found = detect(&bin, None).unwrap().modules;
            assert_eq!(found.len(), 1, "{place}");
            assert_eq!((&*found[0].language, &*found[0].version), ("java", "12.0"));
            assert!(found[0].path.ends_with(Path::new(place).join(LAUNCHER)), "{:?}", found[0].path);
        }
    }
}
