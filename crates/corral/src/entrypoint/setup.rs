//! Files to a fresh daemon: bundles, scripts, configurations, and programs to run.

use std::collections::HashSet;
use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use corral_config::plan::AssetKind;
use serde_json::json;

use crate::asset;
use crate::client::{ApiAnswer, Daemon};

/// The files in a folder, by kind, each in the order of the paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SetupFiles {
    certificates: Vec<PathBuf>,
    scripts: Vec<PathBuf>,
    configurations: Vec<PathBuf>,
    programs: Vec<PathBuf>,
    others: Vec<PathBuf>,
}

impl SetupFiles {
    /// Whether there is anything at all.
    pub(crate) fn any(&self) -> bool {
        let all = [&self.certificates, &self.scripts, &self.configurations, &self.programs, &self.others];
        all.iter().any(|files| !files.is_empty())
    }
}

/// Everything below a folder, which may be missing. A file that is reached in two ways counts once: where
/// Kubernetes mounts files, each is a link into a hidden folder beside it.
pub(crate) fn collect(folder: &Path) -> anyhow::Result<SetupFiles> {
    let mut paths = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.with_context(|| format!("read the folder {}", folder.display()))?,
        };
        for entry in entries {
            let path = entry.with_context(|| format!("read the folder {}", folder.display()))?.path();
            match (path.is_dir(), path.is_symlink()) {
                (true, false) => folders.push(path),
                // It may lead in circles; `find` does not follow it either.
                (true, true) => {}
                (false, _) => paths.push(path),
            }
        }
    }
    paths.sort();
    let mut files = SetupFiles::default();
    let mut seen = HashSet::new();
    for path in paths {
        let Ok(place) = path.canonicalize() else {
            files.others.push(path); // a link that leads nowhere
            continue;
        };
        if !seen.insert(place) {
            continue;
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("pem") => files.certificates.push(path),
            Some("js") => files.scripts.push(path),
            Some("json") => files.configurations.push(path),
            Some("sh") => files.programs.push(path),
            _ => files.others.push(path),
        }
    }
    Ok(files)
}

/// Uploads, configures and runs everything; ends at the first failure.
pub(crate) fn apply(daemon: &Daemon, files: &SetupFiles, say: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
    for path in &files.certificates {
        say(&format!("uploading the certificate bundle {}", path.display()));
        put(daemon, &asset::target(AssetKind::Certificate, &stem(path)), path)?;
    }
    for path in &files.scripts {
        say(&format!("uploading the JavaScript module {}", path.display()));
        put(daemon, &asset::target(AssetKind::Script, &stem(path)), path)?;
    }
    for path in &files.configurations {
        say(&format!("applying the configuration {}", path.display()));
        put(daemon, "/config", path)?;
    }
    for path in &files.programs {
        say(&format!("launching {}", path.display()));
        launch(path)?;
    }
    for path in &files.others {
        say(&format!("ignoring {}", path.display()));
    }
    Ok(())
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn put(daemon: &Daemon, target: &str, path: &Path) -> anyhow::Result<()> {
    let content = fs::read(path).with_context(|| format!("read {}", path.display()))?;
    expect_success(&daemon.put(target, &content)?, &path.display().to_string())
}

/// Code and body of a refusal, as the operator of a container finds them in its log.
fn expect_success(answer: &ApiAnswer, subject: &str) -> anyhow::Result<()> {
    if answer.status != 200 {
        let body = String::from_utf8_lossy(&answer.body).replace("\r\n", "\n");
        bail!("{subject}: HTTP response status code is '{}'\n{}", answer.status, body.trim_end());
    }
    Ok(())
}

/// Runs a script; one that is not executable is given to the shell.
fn launch(path: &Path) -> anyhow::Result<()> {
    let data = fs::metadata(path).with_context(|| format!("look at {}", path.display()))?;
    let mut command = if data.permissions().mode() & 0o111 == 0 {
        let mut shell = Command::new("sh");
        shell.arg(path);
        shell
    } else {
        Command::new(path)
    };
    let status = command.status().with_context(|| format!("run {}", path.display()))?;
    if !status.success() {
        bail!("{} ended with {status}", path.display());
    }
    Ok(())
}

/// A page for browsers and a text for others, at every address of the container.
pub(crate) fn welcome(daemon: &Daemon) -> anyhow::Result<()> {
    let text = |name: &str, default: &str| env::var(name).unwrap_or_else(|_| default.to_owned());
    let folder = text("CORRAL_ENTRYPOINT_WELCOME", "/usr/share/unit/welcome");
    let listen = text("CORRAL_ENTRYPOINT_LISTEN", "*:80");
    let configuration = json!({
        "listeners": { listen: { "pass": "routes" } },
        "routes": [
            {
                "match": { "headers": { "accept": "*text/html*" } },
                "action": { "share": format!("{folder}/welcome.html") }
            },
            { "action": { "share": format!("{folder}/welcome.md") } }
        ]
    });
    let answer = daemon.put("/config", configuration.to_string().as_bytes())?;
    expect_success(&answer, "the welcome configuration")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_sorted_by_kind_and_path() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.json", "a.json", "sub/0.json", "c.pem", "x.js", "run.sh", "README", "sub/d.pem"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let paths = |names: &[&str]| names.iter().map(|name| folder.path().join(name)).collect::<Vec<_>>();
        let files = collect(folder.path()).unwrap();
        assert_eq!(files.configurations, paths(&["a.json", "b.json", "sub/0.json"]));
        assert_eq!(files.certificates, paths(&["c.pem", "sub/d.pem"]));
        assert_eq!(files.scripts, paths(&["x.js"]));
        assert_eq!(files.programs, paths(&["run.sh"]));
        assert_eq!(files.others, paths(&["README"]));
        assert!(files.any());
        let mounted = folder.path().join("mounted");
        fs::create_dir_all(mounted.join("..2026")).unwrap();
        fs::write(mounted.join("..2026/a.pem"), "").unwrap();
        symlink("..2026", mounted.join("..data")).unwrap();
        symlink("..data/a.pem", mounted.join("a.pem")).unwrap();
        symlink("nowhere.json", mounted.join("b.json")).unwrap();
        let files = collect(&mounted).unwrap();
        assert_eq!(files.certificates, [mounted.join("..2026/a.pem")]);
        assert_eq!((files.configurations.len(), files.others), (0, vec![mounted.join("b.json")]));
        assert!(!collect(&folder.path().join("missing")).unwrap().any());
    }
}
