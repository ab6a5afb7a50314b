//! `corral config`: reads and changes the configuration of a running daemon.

mod advice;
mod apply;
mod diff;
pub(crate) mod edit;
mod history;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use corral_manifest::Format;

use crate::client::{self, Daemon, encode};
use crate::output;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the configuration or the part at PATH, such as listeners/*:80
    Get {
        #[arg(default_value = "")]
        path: String,
    },
    /// Replace the configuration or the part at PATH by FILE
    ///
    /// FILE is JSON; without it, or with `-`, standard input is read. A single argument that is the
    /// name of a file replaces the whole configuration.
    Set {
        #[arg(value_name = "PATH")]
        path: Option<String>,
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Words for the history of configurations, at most 200 bytes
        #[arg(long, value_name = "TEXT")]
        comment: Option<String>,
    },
    /// Remove the configuration or the part at PATH
    Delete {
        #[arg(default_value = "")]
        path: String,
        /// Words for the history of configurations, at most 200 bytes
        #[arg(long, value_name = "TEXT")]
        comment: Option<String>,
    },
    /// Open the configuration or the part at PATH in $VISUAL or $EDITOR, and put it in force
    ///
    /// A change that the daemon refuses is shown with its place in the file, which can be edited again.
    Edit {
        #[arg(default_value = "")]
        path: String,
    },
    /// Show how the running configuration differs from FILEs; exits with 1 if it does
    Diff {
        /// JSON or YAML, or a folder of such files; several are merged
        #[arg(required = true, value_name = "FILE|FOLDER")]
        paths: Vec<PathBuf>,
    },
    /// Put in force what FILEs say, with the certificates and js_modules beside them
    Apply {
        /// JSON or YAML, or a folder of such files; several are merged
        #[arg(required = true, value_name = "FILE|FOLDER")]
        paths: Vec<PathBuf>,
    },
    /// List the last hundred configurations that were in force, newest first: time, author, and what differed
    ///
    /// A star marks the one in force. With ID, that configuration itself is printed.
    History {
        #[arg(value_name = "ID")]
        id: Option<u32>,
    },
    /// Put the configuration before the one in force in force again, or the one with the number ID
    ///
    /// An undo counts as another change: a second undo takes the first one back. Nothing is done if something else has
    /// come into force meanwhile.
    Undo {
        #[arg(value_name = "ID")]
        id: Option<u32>,
        /// Words for the history of configurations, at most 200 bytes
        #[arg(long, value_name = "TEXT")]
        comment: Option<String>,
    },
}

pub(crate) fn command(command: &ConfigCommand, daemon: &Daemon) -> anyhow::Result<ExitCode> {
    let body = match command {
        ConfigCommand::Get { path } => {
            let answer = daemon.get(&target(path))?;
            let status = answer.status;
            answer.into_body().map_err(|error| advice::of_path(error, status, daemon, &target(path)))?
        }
        ConfigCommand::Delete { path, comment } => {
            let answer = daemon.delete(&(target(path) + &history::query(comment.as_deref())))?;
            let status = answer.status;
            answer.into_body().map_err(|error| advice::of_path(error, status, daemon, &target(path)))?
        }
        ConfigCommand::Set { path, file, comment } => {
            let (path, file) = what_to_set(path.as_deref(), file.as_deref(), Path::is_file);
            let document = client::read_input(&file).map_err(|error| advice::of_file(error, path, &file))?;
            let query = history::query(comment.as_deref());
            let answer = daemon.put(&(target(path) + &query), &document)?;
            let status = answer.status;
            answer
                .into_body()
                .map_err(|error| advice::of_change(error, status, daemon, &target(path), &file))?
        }
        ConfigCommand::Edit { path } => return edit::command(daemon, &target(path)),
        ConfigCommand::Diff { paths } => return diff::command(daemon, paths),
        ConfigCommand::Apply { paths } => apply::command(daemon, paths)?,
        ConfigCommand::History { id: None } => {
            history::list(daemon)?;
            return Ok(ExitCode::SUCCESS);
        }
        ConfigCommand::History { id: Some(id) } => history::show(daemon, *id)?,
        ConfigCommand::Undo { id, comment } => history::undo(daemon, *id, comment.as_deref())?,
    };
    output::print(&body)?;
    Ok(ExitCode::SUCCESS)
}

/// With one argument, a file replaces everything; anything else is a path, for standard input.
fn what_to_set<'a>(
    path: Option<&'a str>,
    file: Option<&Path>,
    is_file: impl Fn(&Path) -> bool,
) -> (&'a str, PathBuf) {
    let stdin = PathBuf::from("-");
    match (path, file) {
        (Some(path), Some(file)) => (path, file.to_owned()),
        // A file that is not there is missed at once, rather than a path below which standard input is waited for.
        (Some(only), None) if only == "-" || is_file(Path::new(only)) || looks_like_file(only) => {
            ("", only.into())
        }
        (path, _) => (path.unwrap_or_default(), stdin),
    }
}

/// Whether no part of a configuration has this name. A pipe of the shell is a device: `<(jq …)`, `/dev/stdin`.
fn looks_like_file(name: &str) -> bool {
    name.starts_with("/dev/") || name.starts_with("/proc/") || Format::of_name(name).is_some()
}

/// The request target of a path below `/config`, which may be left out.
fn target(path: &str) -> String {
    let path = path.trim_matches('/');
    let path = path.strip_prefix("config/").unwrap_or(if path == "config" { "" } else { path });
    if path.is_empty() { "/config".to_owned() } else { format!("/config/{}", encode(path)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_target(path: &str, expected: &str) {
        assert_eq!(target(path), expected);
    }

    #[test]
    fn paths_are_below_config() {
        check_target("", "/config");
        check_target("/", "/config");
        check_target("config", "/config");
        check_target("/config/", "/config");
        check_target("listeners/*:80/pass", "/config/listeners/*:80/pass");
        check_target("/config/routes/0", "/config/routes/0");
        check_target("configuration", "/config/configuration");
        check_target("applications/my app", "/config/applications/my%20app");
        check_target("applications/a%2Fb", "/config/applications/a%2Fb");
        check_target("applications/é?#", "/config/applications/%C3%A9%3F%23");
        check_target("listeners/[::1]:80", "/config/listeners/[::1]:80");
    }

    #[track_caller]
    fn check_set(path: Option<&str>, file: Option<&str>, expected: (&str, &str)) {
        let (path, file) = what_to_set(path, file.map(Path::new), |path| path == Path::new("there.json"));
        assert_eq!((path, file.to_str().unwrap()), expected);
    }

    #[test]
    fn one_argument_is_a_file_if_there_is_one() {
        check_set(None, None, ("", "-"));
        check_set(Some("there.json"), None, ("", "there.json"));
        check_set(Some("-"), None, ("", "-"));
        check_set(Some("/dev/stdin"), None, ("", "/dev/stdin"));
        check_set(Some("/dev/fd/63"), None, ("", "/dev/fd/63"));
        check_set(Some("routes"), Some("/dev/stdin"), ("routes", "/dev/stdin"));
        check_set(Some("routes"), None, ("routes", "-"));
        check_set(Some("gone.yaml"), None, ("", "gone.yaml"));
        check_set(Some("routes"), Some("there.json"), ("routes", "there.json"));
        check_set(Some("there.json"), Some("x"), ("there.json", "x"));
    }
}
