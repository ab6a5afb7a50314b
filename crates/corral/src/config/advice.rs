//! Advice on commands that a daemon cannot carry out: the words behind the daemon's own.

use std::path::Path;

use anyhow::{Error, anyhow};
use corral_config::json::{self, Value, edit};
use corral_manifest::Format;

use crate::client::Daemon;

/// The FILE of `set` cannot be read: perhaps it is meant as a value.
pub(super) fn of_file(error: Error, path: &str, file: &Path) -> Error {
    let text = file.to_string_lossy();
    let literal = match json::parse(text.as_bytes()) {
        Ok(value) => value.compact(),
        // A word is a string whose quotes the shell has taken, unless it looks like the name of a file.
        Err(_) if !text.contains(['/', '.']) => Value::from(&*text).compact(),
        Err(_) => return error,
    };
    let literal = String::from_utf8_lossy(&literal).replace('\'', r"'\''");
    anyhow!(
        "{error:#}; FILE is the name of a file, a value itself comes from standard input: \
         printf '%s' '{literal}' | corral config set '{path}'"
    )
}

/// A change was refused.
pub(super) fn of_change(error: Error, status: u16, daemon: &Daemon, target: &str, file: &Path) -> Error {
    let is_yaml = Format::of_name(&file.to_string_lossy()) == Some(Format::Yaml);
    if status == 400 && is_yaml {
        return anyhow!(
            "{error:#}; set takes JSON, for YAML there is: corral config apply {}",
            file.display()
        );
    }
    of_path(error, status, daemon, target)
}

/// Something was not found: the first part of its path that is not there.
pub(super) fn of_path(error: Error, status: u16, daemon: &Daemon, target: &str) -> Error {
    let missing = (status == 404).then(|| first_missing(daemon, target)).flatten();
    match missing {
        Some(missing) => anyhow!("{error:#}: {missing}"),
        None => error,
    }
}

fn first_missing(daemon: &Daemon, target: &str) -> Option<String> {
    let body = daemon.get("/config").ok()?.into_body().ok()?;
    let document = json::parse(&body).ok()?;
    let path = edit::segments(target.as_bytes())?;
    describe(&document, path.get(1..)?)
}

/// Both as the parts of a path below `/config`.
fn describe(document: &Value, path: &edit::Path) -> Option<String> {
    let n_there = (0..path.len()).take_while(|n| edit::get(document, &path[..=*n]).is_ok()).count();
    let missing = path.get(n_there)?;
    let parent: String = path[..n_there].iter().map(|name| format!("/{name}")).collect();
    let parent = if parent.is_empty() { "the configuration".to_owned() } else { format!("\"{parent}\"") };
    let rest = path.get(n_there + 1..).filter(|rest| !rest.is_empty());
    Some(match rest {
        None => format!("{parent} has no \"{missing}\""),
        Some(rest) => {
            let members: String = rest.iter().map(|name| format!("{{\"{name}\": ")).collect();
            let ends = "}".repeat(rest.len());
            format!("{parent} has no \"{missing}\" yet; set that to {members}…{ends}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(target: &str, expected: Option<&str>) {
        let document =
            json::parse(br#"{"listeners": {"*:80": {}}, "routes": [{}], "access_log": "/l"}"#).unwrap();
        let path = edit::segments(target.as_bytes()).unwrap();
        assert_eq!(describe(&document, &path).as_deref(), expected, "{target}");
    }

    #[test]
    fn the_first_part_that_is_missing_is_named() {
        check("/settings", Some("the configuration has no \"settings\""));
        check("/settings/log", Some("the configuration has no \"settings\" yet; set that to {\"log\": …}"));
        check(
            "/settings/http/max_body_size",
            Some("the configuration has no \"settings\" yet; set that to {\"http\": {\"max_body_size\": …}}"),
        );
        check("/listeners/*:81", Some("\"/listeners\" has no \"*:81\""));
        check("/routes/7", Some("\"/routes\" has no \"7\""));
        check("/access_log/path", Some("\"/access_log\" has no \"path\""));
        check("/listeners/*:80", None);
        check("/", None);
    }

    #[track_caller]
    fn check_file(file: &str, expected: Option<&str>) {
        let error = of_file(anyhow!("it is not there"), "a/b", Path::new(file)).to_string();
        assert_eq!(error.split_once("printf '%s' ").map(|(_, rest)| rest), expected, "{file}");
    }

    #[test]
    fn a_value_in_the_place_of_a_file_is_told_the_way() {
        check_file("4", Some("'4' | corral config set 'a/b'"));
        check_file("true", Some("'true' | corral config set 'a/b'"));
        check_file(r#"{"max": 4}"#, Some(r#"'{"max":4}' | corral config set 'a/b'"#));
        check_file("auto", Some(r#"'"auto"' | corral config set 'a/b'"#));
        check_file("it's", Some(r#"'"it'\''s"' | corral config set 'a/b'"#));
        check_file("there.json", None);
        check_file("folder/file", None);
    }
}
