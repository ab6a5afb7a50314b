//! `log` of a site: which requests are told, and how.

use corral_manifest::caddyfile::Directive;

use super::words::{BlocksResult, block, name, pair, refuse, unknown, value, values};

/// The lines that are logged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Log {
    pub(super) level: CaddyLevel,
    pub(super) encoding: LogEncoding,
    pub(super) redactions: Vec<Redaction>,
}

/// From the least important to the most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CaddyLevel {
    Debug,
    #[default]
    Info,
    Warn,
    Error,
}

impl CaddyLevel {
    /// As lines have it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// How a line looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LogEncoding {
    #[default]
    Json,
    Console,
}

/// A parameter of the query that is not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redaction {
    pub(super) name: String,
    /// The text in the place of its value; the whole parameter is left out without it.
    pub(super) value: Option<String>,
}

pub(super) fn read(directive: &Directive) -> BlocksResult<Log> {
    let mut log = Log::default();
    for option in block(directive) {
        match name(option) {
            "level" => log.level = level(option)?,
            "format" => format(option, &mut log)?,
            "output" if value(option)? == "stderr" => {}
            "output" => return refuse(option, "\"output\" can only be stderr here"),
            _ => return unknown(option, &["level", "format", "output"]),
        }
    }
    Ok(log)
}

fn level(option: &Directive) -> BlocksResult<CaddyLevel> {
    match value(option)?.to_ascii_lowercase().as_str() {
        "debug" => Ok(CaddyLevel::Debug),
        "info" => Ok(CaddyLevel::Info),
        "warn" => Ok(CaddyLevel::Warn),
        "error" | "panic" | "fatal" => Ok(CaddyLevel::Error),
        other => refuse(option, format!("\"{other}\" is not a level: DEBUG, INFO, WARN or ERROR")),
    }
}

fn format(option: &Directive, log: &mut Log) -> BlocksResult<()> {
    match value(option)? {
        "filter" => filter(block(option), log),
        _ => encoding(option, log),
    }
}

fn encoding(option: &Directive, log: &mut Log) -> BlocksResult<()> {
    log.encoding = match value(option)? {
        "json" => LogEncoding::Json,
        "console" => LogEncoding::Console,
        other => return refuse(option, format!("format \"{other}\" is not known here: json or console")),
    };
    Ok(())
}

fn filter(options: &[Directive], log: &mut Log) -> BlocksResult<()> {
    for option in options {
        match name(option) {
            "wrap" => encoding(option, log)?,
            "fields" => filter(block(option), log)?,
            "uri" | "request>uri" if values(option) == ["query"] => redactions(option, log)?,
            _ => return unknown(option, &["wrap", "fields", "uri query"]),
        }
    }
    Ok(())
}

fn redactions(option: &Directive, log: &mut Log) -> BlocksResult<()> {
    for action in block(option) {
        let redaction = match name(action) {
            "replace" => pair(action).map(|(name, value)| Redaction { name, value: Some(value) })?,
            "delete" => Redaction { name: value(action)?.to_owned(), value: None },
            _ => return unknown(action, &["replace", "delete"]),
        };
        log.redactions.push(redaction);
    }
    Ok(())
}
