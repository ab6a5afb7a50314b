//! `corral config diff`: how the running configuration differs from files, path by path.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use corral_config::json::{self, Value};

use crate::client::Daemon;
use crate::files::{self, Seen};
use crate::output;

pub(super) fn command(daemon: &Daemon, paths: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let found = files::read(paths, &Seen::default()).map_err(|problems| anyhow!(problems.join("\n")))?;
    let running = daemon.get("/config")?.into_body()?;
    let running = json::parse(&running).context("the running configuration is not JSON")?;
    let mut lines = Vec::new();
    compare("", Some(&running), Some(&found.manifest.as_shown_in(&running)), &mut lines);
    output::write(lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    Ok(if lines.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `-` is what runs, `+` what the files say.
fn compare(path: &str, running: Option<&Value>, wanted: Option<&Value>, lines: &mut Vec<String>) {
    match (running, wanted) {
        (Some(running), Some(wanted)) if running == wanted => {}
        (Some(Value::Object(running)), Some(Value::Object(wanted))) => {
            let added = wanted.keys().filter(|name| !running.contains_key(*name));
            for name in running.keys().chain(added) {
                let path = format!("{path}/{}", name.to_string_lossy().replace('/', "%2F"));
                compare(&path, running.get(name), wanted.get(name), lines);
            }
        }
        (Some(Value::Array(running)), Some(Value::Array(wanted))) => {
            for idx in 0..running.len().max(wanted.len()) {
                compare(&format!("{path}/{idx}"), running.get(idx), wanted.get(idx), lines);
            }
        }
        (running, wanted) => {
            let sides = [("-", running), ("+", wanted)].into_iter();
            lines.extend(sides.filter_map(|(sign, value)| Some(line(sign, path, value?))));
        }
    }
}

fn line(sign: &str, path: &str, value: &Value) -> String {
    let path = if path.is_empty() { "/" } else { path };
    format!("{sign} {path}: {}", String::from_utf8_lossy(&value.compact()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(running: &str, wanted: &str, expected: &[&str]) {
        let [running, wanted] = [running, wanted].map(|text| json::parse(text.as_bytes()).unwrap());
        let mut lines = Vec::new();
        compare("", Some(&running), Some(&wanted), &mut lines);
        assert_eq!(lines, expected);
    }

    #[test]
    fn differences_have_paths() {
        check("{}", "{}", &[]);
        check(r#"{"a": 1, "b": [1, 2]}"#, r#"{"b": [1, 2], "a": 1}"#, &[]);
        check(
            r#"{"a": {"b": 1, "c": "x"}, "gone": {}}"#,
            r#"{"a": {"b": 2, "c": "x"}, "new": [true]}"#,
            &["- /a/b: 1", "+ /a/b: 2", "- /gone: {}", "+ /new: [true]"],
        );
        check(r#"{"r": [1, 2]}"#, r#"{"r": [1, 3, 4]}"#, &["- /r/1: 2", "+ /r/1: 3", "+ /r/2: 4"]);
        check(r#"{"a": []}"#, r#"{"a": {}}"#, &["- /a: []", "+ /a: {}"]);
        check(r#"{"l": {"unix:/x": 1}}"#, r#"{"l": {}}"#, &["- /l/unix:%2Fx: 1"]);
        check("{}", "[]", &["- /: {}", "+ /: []"]);
    }
}
