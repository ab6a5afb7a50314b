//! Runs the executable and reads what it tells.

use std::ffi::OsStr;
use std::process::{Command, Output};

use serde_json::Value;

/// A run that is over.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    /// The summary; null if there is none.
    pub(crate) json: Value,
    pub(crate) stderr: String,
}

impl Run {
    /// A number of the summary, by a pointer such as `/failures/reset`.
    #[track_caller]
    pub(crate) fn number(&self, pointer: &str) -> u64 {
        let found = self.json.pointer(pointer).and_then(Value::as_u64);
        found.unwrap_or_else(|| panic!("{pointer} is not a number in {:#}\n{}", self.json, self.stderr))
    }

    #[track_caller]
    pub(crate) fn float(&self, pointer: &str) -> f64 {
        let found = self.json.pointer(pointer).and_then(Value::as_f64);
        found.unwrap_or_else(|| panic!("{pointer} is not a number in {:#}\n{}", self.json, self.stderr))
    }

    /// Milliseconds of a percentile of the time from due.
    #[track_caller]
    pub(crate) fn response_ms(&self, percent: &str) -> f64 {
        self.float(&format!("/response_time/percentiles/{percent}")) / 1e3
    }

    #[track_caller]
    pub(crate) fn service_ms(&self, percent: &str) -> f64 {
        self.float(&format!("/service_time/percentiles/{percent}")) / 1e3
    }

    /// The kinds of failures that there were, as `status 2, reset 1`.
    #[track_caller]
    pub(crate) fn failures(&self) -> String {
        let kinds = self.json["failures"].as_object().unwrap_or_else(|| panic!("{}", self.stderr));
        let kinds = kinds.iter().filter(|(_, n)| **n != 0);
        kinds.map(|(kind, n)| format!("{kind} {n}")).collect::<Vec<_>>().join(", ")
    }

    /// All of so many requests had a good answer.
    #[track_caller]
    pub(crate) fn is_good(&self, requests: u64) {
        assert_eq!(self.failures(), "", "{:#}", self.json);
        let counts = ["/sent", "/answered", "/good"].map(|name| self.number(name));
        assert_eq!((counts, self.code), ([requests; 3], Some(0)), "{:#}", self.json);
    }
}

/// A run with a summary.
#[track_caller]
pub(crate) fn tank<S: AsRef<OsStr>>(arguments: &[S]) -> Run {
    let output = command().args(["--json", "-"]).args(arguments).output().expect("the executable starts");
    let json = serde_json::from_slice(&output.stdout).unwrap_or_default();
    Run { code: output.status.code(), json, stderr: String::from_utf8_lossy(&output.stderr).into_owned() }
}

/// A run with the summary for people.
#[track_caller]
pub(crate) fn plain<S: AsRef<OsStr>>(arguments: &[S]) -> Output {
    command().args(arguments).output().expect("the executable starts")
}

fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_corral-tank"))
}
