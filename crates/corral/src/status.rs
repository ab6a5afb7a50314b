//! `corral status`: the figures of a running daemon as a person reads them.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use crate::client::Daemon;

pub(crate) fn command(daemon: &Daemon, watch: Option<Duration>) -> anyhow::Result<ExitCode> {
    let Some(interval) = watch else {
        print(&render(&read(daemon)?))?;
        return Ok(ExitCode::SUCCESS);
    };
    // Home and clear below: the screen does not flicker, and what was there before can be scrolled to.
    let before = if io::stdout().is_terminal() { "\x1b[H\x1b[J" } else { "" };
    loop {
        let text = match read(daemon) {
            Ok(status) => render(&status),
            // It may be on its way back.
            Err(error) => format!("{error:#}\n"),
        };
        if print(&format!("{before}{text}\n")).is_err() {
            return Ok(ExitCode::SUCCESS); // nobody reads any more
        }
        std::thread::sleep(interval);
    }
}

/// The figures as the daemon gives them.
pub(crate) fn read(daemon: &Daemon) -> anyhow::Result<Value> {
    let body = daemon.get("/status")?.into_body()?;
    serde_json::from_slice(&body).context("the status is no JSON")
}

fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
}

pub(crate) fn render(status: &Value) -> String {
    let mut text = String::new();
    let connections = &status["connections"];
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "connections   {} active, {} idle, {} accepted, {} closed",
        number(&connections["active"]),
        number(&connections["idle"]),
        number(&connections["accepted"]),
        number(&connections["closed"])
    );
    let _ = match number(&connections["refused"]) {
        0 => writeln!(text),
        n => writeln!(text, ", {n} refused"),
    };
    let _ = writeln!(text, "requests      {}", number(&status["requests"]["total"]));
    for (language, module) in members(&status["modules"]) {
        let versions: Vec<_> = match module {
            Value::Array(several) => several.iter().collect(),
            single => vec![single],
        };
        let versions: Vec<_> = versions.iter().filter_map(|module| module["version"].as_str()).collect();
        let _ = writeln!(text, "module        {language} {}", versions.join(", "));
    }
    for (name, app) in members(&status["applications"]) {
        let processes = &app["processes"];
        let _ = writeln!(
            text,
            "application   {name}: {} processes running, {} starting, {} idle; {} requests active",
            number(&processes["running"]),
            number(&processes["starting"]),
            number(&processes["idle"]),
            number(&app["requests"]["active"])
        );
        if let Some(error) = app["last_error"].as_str() {
            let _ = writeln!(text, "              last error: {error}");
        }
        if let Some(last) = app["crashes"]["last"].as_str() {
            let total = number(&app["crashes"]["total"]);
            let _ = writeln!(text, "              {total} crashed; the last one: {last}");
        }
        if let Some(warning) = app["warning"].as_str() {
            let _ = writeln!(text, "              warning: {warning}");
        }
    }
    text
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_in_words() {
        let status = json!({
            "modules": {"php": [{"version": "8.4.1"}, {"version": "8.2.29"}]},
            "connections": {"accepted": 10, "active": 1, "idle": 2, "closed": 7, "refused": 3},
            "requests": {"total": 33},
            "applications": {
                "blog": {
                    "processes": {"running": 0, "starting": 1, "idle": 0},
                    "requests": {"active": 4},
                    "last_error": "it does not load",
                    "crashes": {"total": 2, "last": "process 7 exited on signal 11"},
                    "warning": "it runs as \"corral\""
                }
            }
        });
        let expected = "\
connections   1 active, 2 idle, 10 accepted, 7 closed, 3 refused
requests      33
module        php 8.4.1, 8.2.29
application   blog: 0 processes running, 1 starting, 0 idle; 4 requests active
              last error: it does not load
              2 crashed; the last one: process 7 exited on signal 11
              warning: it runs as \"corral\"
";
        assert_eq!(render(&status), expected);
    }

    #[test]
    fn what_is_missing_is_zero() {
        assert_eq!(
            render(&json!({})),
            "connections   0 active, 0 idle, 0 accepted, 0 closed\nrequests      0\n"
        );
    }
}
