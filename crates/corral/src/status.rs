//! `corral status`: the figures of a running daemon as a person reads them.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::Context;
use corral_config::address::ListenAddress;
use serde_json::Value;

use crate::client;

pub(crate) fn command(control: &ListenAddress) -> anyhow::Result<ExitCode> {
    let body = client::ask(control, "GET", "/status", None)?.into_body()?;
    let status: Value = serde_json::from_slice(&body).context("the status is no JSON")?;
    print!("{}", render(&status));
    Ok(ExitCode::SUCCESS)
}

fn render(status: &Value) -> String {
    let mut text = String::new();
    let connections = &status["connections"];
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "connections   {} active, {} idle, {} accepted, {} closed",
        number(&connections["active"]),
        number(&connections["idle"]),
        number(&connections["accepted"]),
        number(&connections["closed"])
    );
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
            "connections": {"accepted": 10, "active": 1, "idle": 2, "closed": 7},
            "requests": {"total": 33},
            "applications": {
                "blog": {
                    "processes": {"running": 0, "starting": 1, "idle": 0},
                    "requests": {"active": 4},
                    "last_error": "it does not load"
                }
            }
        });
        let expected = "\
connections   1 active, 2 idle, 10 accepted, 7 closed
requests      33
module        php 8.4.1, 8.2.29
application   blog: 0 processes running, 1 starting, 0 idle; 4 requests active
              last error: it does not load
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
