//! Which script answers a path: as a target of PHP has it, and looked at before it is named.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use corral_cgi::script::{Meaning, meaning};
use corral_config::gateway::Scripts;
use corral_config::root;

/// The script that a path leads to, as a server is told of it.
pub(super) struct ScriptFile {
    /// The script's file, if there are scripts.
    pub(super) file: Option<Vec<u8>>,
    /// The script's path below the root, with a leading slash.
    pub(super) name: Vec<u8>,
    /// Empty or starting with a slash.
    pub(super) path_info: Vec<u8>,
}

/// Where a path leads.
pub(super) enum ScriptLookup {
    Place(ScriptFile),
    /// The path names a folder; its slash is missing.
    Folder,
    /// Nothing, for this reason.
    Nothing(u16),
}

/// Finds the script for a decoded, normalised path. `outside` is the root of the file system that the scripts are in,
/// if that is another one than this process has.
pub(super) fn find(path: &[u8], scripts: Option<&Scripts>, outside: Option<&Path>) -> ScriptLookup {
    // No name of a file on a site, and more than one server has taken them for the end of something.
    if memchr::memchr3(b'\r', b'\n', 0, path).is_some() {
        return ScriptLookup::Nothing(404);
    }
    let Some(scripts) = scripts else {
        return ScriptLookup::Place(ScriptFile { file: None, name: Vec::new(), path_info: path.to_vec() });
    };
    if let Some(script) = &scripts.script {
        let name = [b"/", script.as_os_str().as_bytes()].concat();
        return ScriptLookup::Place(ScriptFile {
            file: Some(below(scripts, &name)),
            name,
            path_info: Vec::new(),
        });
    }
    let look = |name: &[u8]| look(outside, &below(scripts, name));
    let Some(extensions) = &scripts.split_path else { return find_file(path, scripts, look) };
    let (name, path_info) = match meaning(path, extensions) {
        Meaning::Script { name, path_info } => (name.to_vec(), path_info.to_vec()),
        Meaning::Index => ([path, scripts.index.as_bytes()].concat(), Vec::new()),
        // Other files are never named, and not even admitted.
        Meaning::Other => return folder_or_nothing(look(path)),
    };
    match look(&name) {
        Ok(found) if found.is_file() => place(scripts, &name, &path_info),
        found => nothing(found),
    }
}

/// Finds the first file on the way, as of old servers whose scripts have names of all kinds.
fn find_file(path: &[u8], scripts: &Scripts, look: impl Fn(&[u8]) -> io::Result<Metadata>) -> ScriptLookup {
    for end in memchr::memchr_iter(b'/', path).skip(1).chain([path.len()]) {
        let (name, path_info) = path.split_at(end);
        if name.ends_with(b"/") {
            break;
        }
        match look(name) {
            Ok(found) if found.is_file() => return place(scripts, name, path_info),
            Ok(found) if found.is_dir() && end < path.len() => {}
            found => return folder_or_nothing(found),
        }
    }
    let index = [path, scripts.index.as_bytes()].concat();
    match look(&index) {
        Ok(found) if found.is_file() => place(scripts, &index, b""),
        found => nothing(found),
    }
}

fn place(scripts: &Scripts, name: &[u8], path_info: &[u8]) -> ScriptLookup {
    let file = Some(below(scripts, name));
    ScriptLookup::Place(ScriptFile { file, name: name.to_vec(), path_info: path_info.to_vec() })
}

fn folder_or_nothing(found: io::Result<Metadata>) -> ScriptLookup {
    match found {
        Ok(found) if found.is_dir() => ScriptLookup::Folder,
        found => nothing(found),
    }
}

fn nothing(found: io::Result<Metadata>) -> ScriptLookup {
    ScriptLookup::Nothing(found.map_or_else(|error| status_of(&error), |_| 404))
}

/// Looks at what a path leads to in the file system of the scripts.
fn look(outside: Option<&Path>, path: &[u8]) -> io::Result<Metadata> {
    match outside {
        None => fs::metadata(OsStr::from_bytes(path)),
        Some(outside) => fs::metadata(OsStr::from_bytes(&root::join(outside.as_os_str().as_bytes(), path))),
    }
}

fn below(scripts: &Scripts, name: &[u8]) -> Vec<u8> {
    root::join(scripts.root.as_os_str().as_bytes(), name)
}

fn status_of(error: &io::Error) -> u16 {
    match error.kind() {
        io::ErrorKind::PermissionDenied => 403,
        _ if error.raw_os_error() == Some(ELOOP) => 403,
        _ => 404,
    }
}

const ELOOP: i32 = 40;

#[cfg(test)]
mod tests {
    use std::fs::{create_dir, write};

    use super::*;

    #[track_caller]
    fn check(scripts: Option<&Scripts>, path: &str, expect: &str) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let root = scripts.map_or(String::new(), |scripts| scripts.root.to_str().unwrap().to_owned());
        let found = match find(path.as_bytes(), scripts, None) {
            ScriptLookup::Place(ScriptFile { file, name, path_info }) => {
                let file = file.map_or(String::new(), |file| text(&file).replacen(&root, "R", 1));
                format!("{file} {} {}", text(&name), text(&path_info))
            }
            ScriptLookup::Folder => "folder".to_owned(),
            ScriptLookup::Nothing(status) => status.to_string(),
        };
        assert_eq!(found, expect, "{path:?}");
    }

    fn site(folder: &Path) -> Scripts {
        for file in ["index.php", "a.php", "b.txt"] {
            write(folder.join(file), "").unwrap();
        }
        create_dir(folder.join("sub")).unwrap();
        create_dir(folder.join("dir.php")).unwrap();
        Scripts {
            root: folder.to_owned(),
            script: None,
            index: "index.php".to_owned(),
            split_path: Some(vec![".php".to_owned()]),
        }
    }

    #[test]
    fn only_scripts_that_are_there_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let site = site(folder.path());
        let check = |path, expect| check(Some(&site), path, expect);
        check("/a.php", "R/a.php /a.php ");
        check("/a.php/x/y", "R/a.php /a.php /x/y");
        check("/", "R/index.php /index.php ");
        for path in [
            "/none.php",
            "/none.php/x",
            "/b.txt",
            "/b.txt/x.php",
            "/sub/",
            "/dir.php",
            "/dir.php/x",
            "/a.PHP",
        ] {
            check(path, "404");
        }
        check("/sub", "folder");
    }

    #[test]
    fn without_ends_of_names_the_first_file_is_the_script() {
        let folder = tempfile::tempdir().unwrap();
        let site = Scripts { split_path: None, index: "b.txt".to_owned(), ..site(folder.path()) };
        let check = |path, expect| check(Some(&site), path, expect);
        check("/b.txt", "R/b.txt /b.txt ");
        check("/b.txt/", "R/b.txt /b.txt /");
        check("/b.txt/x/y", "R/b.txt /b.txt /x/y");
        check("/", "R/b.txt /b.txt ");
        check("/sub", "folder");
        for path in ["/none", "/none/x", "/sub/", "/sub/x", "/sub/x/y"] {
            check(path, "404");
        }
    }

    #[test]
    fn scripts_in_another_file_system_are_looked_for_there() {
        let folder = tempfile::tempdir().unwrap();
        create_dir(folder.path().join("srv")).unwrap();
        let site = Scripts { root: "/srv".into(), ..site(&folder.path().join("srv")) };
        let found = find(b"/a.php", Some(&site), Some(folder.path()));
        let ScriptLookup::Place(place) = found else { panic!("it is there") };
        assert_eq!(place.file.as_deref(), Some(&b"/srv/a.php"[..]));
        assert!(matches!(find(b"/a.php", Some(&site), None), ScriptLookup::Nothing(404)));
    }

    #[test]
    fn what_ends_a_line_or_a_string_is_no_path() {
        let folder = tempfile::tempdir().unwrap();
        let site = site(folder.path());
        for path in ["/a.php/\n", "/a.php\r/x", "/a.php/\0", "/\n/a.php"] {
            check(Some(&site), path, "404");
            check(None, path, "404");
            check(Some(&Scripts { script: Some("a.php".into()), ..site.clone() }), path, "404");
        }
    }

    #[test]
    fn one_script_answers_every_path() {
        let scripts = Scripts {
            root: "/srv/".into(),
            script: Some("public/index.php".into()),
            index: String::new(),
            split_path: Some(Vec::new()),
        };
        check(
            Some(&scripts),
            "/any.php/thing",
            "R/public/index.php /public/index.php ".replace("R/", "R").as_str(),
        );
    }

    #[test]
    fn without_scripts_the_server_gets_the_path() {
        check(None, "/a.php/x", "  /a.php/x");
    }
}
