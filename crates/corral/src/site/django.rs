//! Static files of a project of Django, as its own finders find them: those of the administration lie in Django's
//! package, others in further packages and in folders that the settings name.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use corral_sys::user::{self, Credentials};
use serde_json::Value;

use super::static_files::StaticFiles;
use super::{Python, Site};

/// Imports what will be served, which configures Django, and prints one line.
const QUESTION: &str = r#"
import importlib, json, os, sys
sys.path.insert(0, os.getcwd())
importlib.import_module(sys.argv[1])
from django.apps import apps
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
found = []
if apps.is_installed("django.contrib.staticfiles"):
    for finder in get_finders():
        for storage in getattr(finder, "storages", {}).values():
            found.append([getattr(storage, "prefix", None) or "", str(storage.location)])
print("\n" + json.dumps({"url": settings.STATIC_URL or "", "folders": found}))
"#;

/// A project that takes longer to load has its files served by itself, if at all.
const LONGEST_ANSWER: Duration = Duration::from_secs(20);

/// Asks a project where its static files are, as the user who will run it; nothing if it cannot say. `version` is the
/// interpreter's.
pub(crate) fn static_files(
    site: &Site,
    python: &Python,
    version: &str,
    credentials: Option<&Credentials>,
) -> Vec<StaticFiles> {
    let mut command = Command::new(interpreter(python, version));
    command.args(["-c", QUESTION, &python.module]).current_dir(&site.root);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    corral_sys::process::in_own_session(&mut command);
    if let Some(credentials) = credentials {
        command.uid(credentials.uid).gid(credentials.gid);
        command.env(
            "HOME",
            user::user_by_uid(credentials.uid).map_or_else(|_| "/".to_owned(), |user| user.home),
        );
    }
    ask(command).and_then(|answer| parse(&answer)).unwrap_or_default()
}

/// The interpreter of the virtual environment, or the one of the version that will run the project.
fn interpreter(python: &Python, version: &str) -> PathBuf {
    if let Some(home) = &python.home {
        return home.join("bin/python");
    }
    let short = version.split('.').take(2).collect::<Vec<_>>().join(".");
    let of_the_system = Path::new("/usr/bin").join(format!("python{short}"));
    if of_the_system.exists() { of_the_system } else { format!("python{short}").into() }
}

fn ask(mut command: Command) -> Option<String> {
    let mut child = command.spawn().ok()?;
    let mut stdout = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut answer = Vec::new();
        let _ = stdout.read_to_end(&mut answer);
        String::from_utf8(answer).ok()
    });
    let deadline = Instant::now() + LONGEST_ANSWER;
    while child.try_wait().ok()?.is_none() {
        if Instant::now() > deadline {
            child.kill().ok()?;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    reader.join().ok()?
}

fn parse(answer: &str) -> Option<Vec<StaticFiles>> {
    let answer: Value = serde_json::from_str(answer.lines().last()?).ok()?;
    let url = answer["url"].as_str()?.trim_matches('/');
    if url.is_empty() || url.contains("//") {
        return Some(Vec::new());
    }
    let folders = answer["folders"].as_array()?;
    let files = folders.iter().filter_map(|folder| {
        let (prefix, folder) =
            (folder[0].as_str()?.trim_matches('/'), fs::canonicalize(folder[1].as_str()?).ok()?);
        let uri = if prefix.is_empty() { format!("/{url}/") } else { format!("/{url}/{prefix}/") };
        Some(StaticFiles { uri, folder })
    });
    Some(files.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_are_none_say_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let text =
            serde_json::json!({ "url": "/static/", "folders": [["", folder.path()], ["", "/nonexistent"]] });
        let found = parse(&format!("printed while it was loaded\n{text}\n")).unwrap();
        let folder = fs::canonicalize(folder.path()).unwrap();
        assert_eq!(found, [StaticFiles { uri: "/static/".to_owned(), folder }]);
        assert_eq!(parse(""), None);
        assert_eq!(parse("Traceback"), None);
        assert_eq!(parse("{\"url\": null, \"folders\": []}"), None);
        assert_eq!(parse("{\"url\": \"https://cdn.example/\", \"folders\": []}"), Some(vec![]));
    }
}
