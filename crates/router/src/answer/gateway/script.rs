//! Which script answers a path: as a target of PHP has it, and looked at before it is named.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;

use corral_cgi::script::{Meaning, meaning};
use corral_config::gateway::Scripts;

/// The script that a path leads to, as a server is told of it.
pub(super) struct Place {
    /// The script's file, if there are scripts.
    pub(super) file: Option<Vec<u8>>,
    /// Its path below the root, with a leading slash.
    pub(super) name: Vec<u8>,
    /// Empty or starting with a slash.
    pub(super) path_info: Vec<u8>,
}

/// Where a path leads.
pub(super) enum Found {
    Place(Place),
    /// The path names a folder; its slash is missing.
    Folder,
    /// Nothing, for this reason.
    Nothing(u16),
}

/// Finds the script for a decoded, normalised path.
pub(super) fn find(path: &[u8], scripts: Option<&Scripts>) -> Found {
    // No name of a file on a site, and more than one server has taken them for the end of something.
    if memchr::memchr3(b'\r', b'\n', 0, path).is_some() {
        return Found::Nothing(404);
    }
    let Some(scripts) = scripts else {
        return Found::Place(Place { file: None, name: Vec::new(), path_info: path.to_vec() });
    };
    if let Some(script) = &scripts.script {
        let name = [b"/", script.as_os_str().as_bytes()].concat();
        return Found::Place(Place { file: Some(below(scripts, &name)), name, path_info: Vec::new() });
    }
    let (name, path_info) = match meaning(path, &scripts.split_path) {
        Meaning::Script { name, path_info } => (name.to_vec(), path_info.to_vec()),
        Meaning::Index => ([path, scripts.index.as_bytes()].concat(), Vec::new()),
        Meaning::Other => return look_for_folder(&below(scripts, path)),
    };
    let file = below(scripts, &name);
    match look(&file) {
        Ok(found) if found.is_file() => Found::Place(Place { file: Some(file), name, path_info }),
        found => Found::Nothing(found.map_or_else(|error| status_of(&error), |_| 404)),
    }
}

/// Other files are never named, and not even admitted.
fn look_for_folder(path: &[u8]) -> Found {
    match look(path) {
        Ok(found) if found.is_dir() => Found::Folder,
        found => Found::Nothing(found.map_or_else(|error| status_of(&error), |_| 404)),
    }
}

fn look(path: &[u8]) -> io::Result<fs::Metadata> {
    fs::metadata(OsStr::from_bytes(path))
}

fn below(scripts: &Scripts, name: &[u8]) -> Vec<u8> {
    let root = scripts.root.as_os_str().as_bytes();
    [root.strip_suffix(b"/").unwrap_or(root), name].concat()
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
    use std::path::Path;

    use super::*;

    #[track_caller]
    fn check(scripts: Option<&Scripts>, path: &str, expect: &str) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let root = scripts.map_or(String::new(), |scripts| scripts.root.to_str().unwrap().to_owned());
        let found = match find(path.as_bytes(), scripts) {
            Found::Place(Place { file, name, path_info }) => {
                let file = file.map_or(String::new(), |file| text(&file).replacen(&root, "R", 1));
                format!("{file} {} {}", text(&name), text(&path_info))
            }
            Found::Folder => "folder".to_owned(),
            Found::Nothing(status) => status.to_string(),
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
            split_path: vec![".php".to_owned()],
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
            split_path: Vec::new(),
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
