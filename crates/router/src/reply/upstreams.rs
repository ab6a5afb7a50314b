//! The servers that a request was passed to, as variables and traces tell of them. Kept only where a template has such
//! a variable, or the request is traced.

use std::cell::Cell;
use std::io::Write as _;
use std::time::{Duration, Instant};

use corral_config::template::UpstreamVariable;

/// One entry for each server, in the order in which they were tried.
#[derive(Debug, Default, Clone)]
pub(crate) struct UpstreamLog(Vec<UpstreamEntry>);

#[derive(Debug, Clone)]
struct UpstreamEntry {
    address: String,
    /// The part of the trace that the server was told.
    told: u32,
    begun: Instant,
    connect_time: Cell<Option<Duration>>,
    status: Option<u16>,
    header_time: Option<Duration>,
    response_time: Option<Duration>,
    failure: Option<String>,
}

/// One server, as a trace tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UpstreamTry {
    pub(crate) address: String,
    /// The part of the trace that the server was told.
    pub(crate) told: u32,
    pub(crate) began: Instant,
    /// `None` if it had the request to the end.
    pub(crate) took: Option<Duration>,
    pub(crate) connect_time: Option<Duration>,
    pub(crate) status: Option<u16>,
    /// Why it gave no complete answer.
    pub(crate) failure: Option<String>,
}

impl UpstreamLog {
    /// A server gets the request, and this part of the trace with it.
    pub(crate) fn begin(&mut self, address: String, told: u32) {
        self.0.push(UpstreamEntry {
            address,
            told,
            begun: Instant::now(),
            connect_time: Cell::default(),
            status: None,
            header_time: None,
            response_time: None,
            failure: None,
        });
    }

    /// A new connection to it was made; the last one counts.
    pub(crate) fn note_connection(&self) {
        if let Some(entry) = self.0.last().filter(|entry| entry.is_open()) {
            entry.connect_time.set(Some(entry.begun.elapsed()));
        }
    }

    /// The head of its response is there.
    pub(crate) fn note_head(&mut self, status: u16) {
        if let Some(entry) = self.0.last_mut().filter(|entry| entry.is_open()) {
            entry.status = Some(status);
            entry.header_time = Some(entry.begun.elapsed());
        }
    }

    /// No complete answer comes of it.
    pub(crate) fn note_failure(&mut self, failure: String) {
        if let Some(entry) = self.0.last_mut().filter(|entry| entry.is_open()) {
            entry.failure = Some(failure);
        }
    }

    /// Nothing more comes of it.
    pub(crate) fn end(&mut self) {
        if let Some(entry) = self.0.last_mut().filter(|entry| entry.is_open()) {
            entry.response_time = Some(entry.begun.elapsed());
        }
    }

    /// All servers in their order.
    pub(crate) fn tries(&self) -> impl Iterator<Item = UpstreamTry> {
        self.0.iter().map(|entry| UpstreamTry {
            address: entry.address.clone(),
            told: entry.told,
            began: entry.begun,
            took: entry.response_time,
            connect_time: entry.connect_time.get(),
            status: entry.status,
            failure: entry.failure.clone(),
        })
    }

    /// Appends the values of all servers.
    pub(crate) fn append(&self, variable: UpstreamVariable, out: &mut Vec<u8>) {
        for (idx, entry) in self.0.iter().enumerate() {
            if idx > 0 {
                out.extend_from_slice(b", ");
            }
            entry.append(variable, out);
        }
    }
}

impl UpstreamEntry {
    fn is_open(&self) -> bool {
        self.response_time.is_none()
    }

    fn append(&self, variable: UpstreamVariable, out: &mut Vec<u8>) {
        let is_connected = self.connect_time.get().is_some() || self.header_time.is_some();
        let time = match variable {
            UpstreamVariable::Address => return out.extend_from_slice(self.address.as_bytes()),
            UpstreamVariable::Status => {
                let status = self.status.map_or_else(|| "-".to_owned(), |status| format!("{status:03}"));
                return out.extend_from_slice(status.as_bytes());
            }
            UpstreamVariable::ConnectTime => {
                is_connected.then(|| self.connect_time.get().unwrap_or_default())
            }
            UpstreamVariable::HeaderTime => self.header_time,
            UpstreamVariable::ResponseTime => {
                Some(self.response_time.unwrap_or_else(|| self.begun.elapsed()))
            }
        };
        let written = match time {
            Some(time) => write!(out, "{}.{:03}", time.as_secs(), time.subsec_millis()),
            None => out.write_all(b"-"),
        };
        written.expect("writing to memory cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(log: &UpstreamLog, variable: UpstreamVariable, expect: &str) {
        let mut out = Vec::new();
        log.append(variable, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expect, "{variable:?}");
    }

    #[test]
    fn each_server_has_its_place() {
        let mut log = UpstreamLog::default();
        check(&log, UpstreamVariable::Address, "");
        log.begin("a:1".to_owned(), 1);
        log.end();
        log.begin("b:2".to_owned(), 2);
        log.note_connection();
        log.note_head(200);
        check(&log, UpstreamVariable::Address, "a:1, b:2");
        check(&log, UpstreamVariable::Status, "-, 200");
        check(&log, UpstreamVariable::ConnectTime, "-, 0.000");
        check(&log, UpstreamVariable::HeaderTime, "-, 0.000");
        check(&log, UpstreamVariable::ResponseTime, "0.000, 0.000");
    }

    #[test]
    fn what_is_over_is_not_changed() {
        let mut log = UpstreamLog::default();
        log.begin("a:1".to_owned(), 1);
        log.end();
        log.note_connection();
        log.note_head(404);
        log.note_failure("late".to_owned());
        check(&log, UpstreamVariable::Status, "-");
        check(&log, UpstreamVariable::ConnectTime, "-");
        let tries: Vec<_> = log.tries().map(|one| (one.address, one.told, one.failure)).collect();
        assert_eq!(tries, [("a:1".to_owned(), 1, None)]);
    }
}
