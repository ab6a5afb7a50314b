//! `corral status`: the figures of a running daemon as a person reads them.

pub(crate) mod application;

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use crate::client::Daemon;
use crate::output;

pub(crate) fn command(daemon: &Daemon, watch: Option<Duration>, form: Form) -> anyhow::Result<ExitCode> {
    let Some(interval) = watch else {
        let status = read(daemon)?;
        let text = match form {
            Form::Words => render(&status, None),
            Form::Json => format!("{status:#}\n"),
        };
        output::write(&text)?;
        return Ok(ExitCode::SUCCESS);
    };
    // Home and clear below: the screen does not flicker, and what was there before can be scrolled to.
    let is_screen = form == Form::Words && io::stdout().is_terminal();
    let before = if is_screen { "\x1b[H\x1b[J" } else { "" };
    let mut last = None;
    loop {
        let text = match (read(daemon), form) {
            (Ok(status), Form::Words) => {
                let sample = StatusSample::of(&status);
                let text = render(&status, last.as_ref().map(|last| sample.since(last)));
                last = Some(sample);
                format!("{before}{text}\n")
            }
            (Ok(status), Form::Json) => format!("{status}\n"),
            // It may be on its way back.
            (Err(error), Form::Words) => format!("{before}{error:#}\n\n"),
            (Err(error), Form::Json) => format!("{}\n", json!({ "error": format!("{error:#}") })),
        };
        if print(&text).is_err() {
            return Ok(ExitCode::SUCCESS); // the reader has gone
        }
        std::thread::sleep(interval);
    }
}

/// The form of the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A person.
    Words,
    /// A program: the object of the control API, in one line each time when it is shown again and again.
    Json,
}

/// Totals at a time.
struct StatusSample {
    at: Instant,
    requests: u64,
    accepted: u64,
}

impl StatusSample {
    fn of(status: &Value) -> Self {
        Self {
            at: Instant::now(),
            requests: number(&status["requests"]["total"]),
            accepted: number(&status["connections"]["accepted"]),
        }
    }

    fn since(&self, last: &Self) -> Rates {
        let seconds = (self.at - last.at).as_secs_f64();
        // Totals begin again when the router has died.
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds.max(0.001);
        Rates { requests: rate(self.requests, last.requests), accepted: rate(self.accepted, last.accepted) }
    }
}

/// Per second, since the figures were shown last.
#[derive(Clone, Copy)]
pub(crate) struct Rates {
    requests: f64,
    accepted: f64,
}

/// The figures as the daemon gives them.
pub(crate) fn read(daemon: &Daemon) -> anyhow::Result<Value> {
    let body = daemon.get("/status")?.into_body()?;
    serde_json::from_slice(&body).context("the status is not JSON")
}

fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
}

/// Without rates of the last moment, there is the average since the start.
pub(crate) fn render(status: &Value, rates: Option<Rates>) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = render_daemon(&mut text, status);
    let _ = render_traffic(&mut text, status, rates);
    for (language, module) in members(&status["modules"]) {
        let versions: Vec<_> = match module {
            Value::Array(several) => several.iter().collect(),
            single => vec![single],
        };
        let versions: Vec<_> = versions.iter().filter_map(|module| module["version"].as_str()).collect();
        let _ = writeln!(text, "module        {language} {}", versions.join(", "));
    }
    for (name, certificate) in members(&status["certificates"]) {
        let _ = render_certificate(&mut text, name, certificate);
    }
    for (name, app) in members(&status["applications"]) {
        let _ = application::render(&mut text, name, app);
    }
    text
}

/// One line for what clients get, and one for what is wrong.
fn render_certificate(text: &mut String, name: &str, certificate: &Value) -> fmt::Result {
    let word = |member: &str| certificate[member].as_str();
    write!(text, "certificate   {name}: {}", word("state").unwrap_or("unknown"))?;
    if let Some(expires) = word("expires") {
        write!(text, ", expires {expires}")?;
    }
    if let Some(issuer) = word("issuer") {
        write!(text, ", by {issuer}")?;
    }
    match (word("next_try"), word("renews_at")) {
        (Some(next_try), _) => writeln!(text, ", next try {next_try}")?,
        (None, Some(renews_at)) => writeln!(text, ", renewed {renews_at}")?,
        (None, None) => writeln!(text)?,
    }
    word("last_error").map_or(Ok(()), |error| writeln!(text, "              last error: {error}"))
}

fn render_daemon(text: &mut String, status: &Value) -> fmt::Result {
    let daemon = &status["daemon"];
    if let Some(version) = daemon["version"].as_str() {
        let (pid, uptime) = (number(&daemon["pid"]), uptime(number(&daemon["uptime"])));
        writeln!(text, "daemon        corral {version}, process {pid}, up {uptime}")?;
    }
    if let Some(error) = daemon["last_error"].as_str() {
        writeln!(text, "              last upgrade: {error}")?;
    }
    if let Some(error) = status["config"]["last_error"].as_str() {
        writeln!(text, "configuration last error: {error}")?;
    }
    for (address, listener) in members(&status["listeners"]) {
        match listener["last_error"].as_str() {
            None => writeln!(text, "listener      {address}")?,
            Some(error) => writeln!(text, "listener      {address} does not listen: {error}")?,
        }
    }
    Ok(())
}

fn render_traffic(text: &mut String, status: &Value, rates: Option<Rates>) -> fmt::Result {
    let connections = &status["connections"];
    let count = |name: &str| number(&connections[name]);
    let (active, idle, accepted, closed) =
        (count("active"), count("idle"), count("accepted"), count("closed"));
    write!(text, "connections   {active} active, {idle} idle, {accepted} accepted, {closed} closed")?;
    match count("refused") {
        0 => {}
        n => write!(text, ", {n} refused")?,
    }
    if let Some(rates) = rates {
        write!(text, "; {:.1} accepted per second", rates.accepted)?;
    }
    let total = number(&status["requests"]["total"]);
    write!(text, "\nrequests      {total}")?;
    match (rates, status["daemon"]["uptime"].as_u64()) {
        (Some(rates), _) => writeln!(text, "; {:.1} per second", rates.requests),
        (None, Some(uptime)) => {
            writeln!(text, "; {:.1} per second on average", total as f64 / uptime.max(1) as f64)
        }
        (None, None) => writeln!(text),
    }
}

/// The two largest units of a time.
pub(crate) fn uptime(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, ..) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// The members of an object; none of what is not one.
pub(crate) fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A number that is 0 where it is left out.
pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_in_words() {
        let status = json!({
            "daemon": {"version": "1.2.3", "pid": 7, "uptime": 66, "last_error": "no executable"},
            "config": {"last_error": "a disk is full"},
            "listeners": {"*:80": {"state": "up"}, "*:81": {"state": "down", "last_error": "it is in use"}},
            "modules": {"php": [{"version": "8.4.1"}, {"version": "8.2.29"}]},
            "connections": {"accepted": 10, "active": 1, "idle": 2, "closed": 7, "refused": 3},
            "requests": {"total": 33},
            "certificates": {
                "a.example.org": {
                    "state": "valid", "expires": "2026-12-01T00:00:00Z", "issuer": "R11",
                    "renews_at": "2026-11-01T00:00:00Z", "challenge": "http-01"
                },
                "b.example.org": {
                    "state": "failed", "next_try": "2026-09-01T00:02:00Z", "last_error": "it cannot connect"
                },
                "c.example.org": {"state": "ordering"}
            },
            "applications": {
                "blog": {
                    "processes": {"running": 1, "starting": 1, "idle": 0},
                    "memory": 67_108_864,
                    "requests": {
                        "active": 4,
                        "total": 2000,
                        "failed": 1,
                        "duration_ms": 25_000,
                        "left_state": {"total": 9, "kinds": {"umask": 7, "streams": 3}}
                    },
                    "last_error": "it does not load",
                    "crashes": {"total": 2, "last": "process 7 exited on signal 11"},
                    "warning": "it runs as \"corral\""
                }
            }
        });
        let expected = "\
daemon        corral 1.2.3, process 7, up 1 min 6 s
              last upgrade: no executable
configuration last error: a disk is full
listener      *:80
listener      *:81 does not listen: it is in use
connections   1 active, 2 idle, 10 accepted, 7 closed, 3 refused
requests      33; 0.5 per second on average
module        php 8.4.1, 8.2.29
certificate   a.example.org: valid, expires 2026-12-01T00:00:00Z, by R11, renewed 2026-11-01T00:00:00Z
certificate   b.example.org: failed, next try 2026-09-01T00:02:00Z
              last error: it cannot connect
certificate   c.example.org: ordering
application   blog: 1 process running, 1 starting, 0 idle; 4 requests active
              2000 requests, 1 failed, 12.5 ms on average; 64.0 MiB of memory
              9 requests have left state behind: umask 7, streams 3
              last error: it does not load
              2 crashed; the last one: process 7 exited on signal 11
              warning: it runs as \"corral\"
";
        assert_eq!(render(&status, None), expected);
        let rates = Rates { requests: 12.34, accepted: 0.5 };
        let text = render(&status, Some(rates));
        assert!(text.contains("7 closed, 3 refused; 0.5 accepted per second\n"), "{text}");
        assert!(text.contains("requests      33; 12.3 per second\n"), "{text}");
    }

    #[test]
    fn times_have_two_units() {
        let times = [(0, "0 s"), (59, "59 s"), (60, "1 min 0 s"), (3_661, "1 h 1 min"), (90_061, "1 d 1 h")];
        for (seconds, expected) in times {
            assert_eq!(uptime(seconds), expected);
        }
    }

    #[test]
    fn rates_are_of_the_time_between() {
        let now = Instant::now();
        let sample = |seconds, requests| StatusSample {
            at: now + Duration::from_secs(seconds),
            requests,
            accepted: 0,
        };
        assert!((sample(4, 30).since(&sample(2, 10)).requests - 10.0).abs() < 1e-9);
        assert!(sample(4, 3).since(&sample(2, 10)).requests.abs() < 1e-9, "the router has died");
    }

    #[test]
    fn what_is_missing_is_zero() {
        assert_eq!(
            render(&json!({}), None),
            "connections   0 active, 0 idle, 0 accepted, 0 closed\nrequests      0\n"
        );
    }
}
