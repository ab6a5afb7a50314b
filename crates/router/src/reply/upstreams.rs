//! The servers that a request was passed to, as variables tell of them. Kept only where a template has such a variable.

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
    begun: Instant,
    connect_time: Cell<Option<Duration>>,
    status: Option<u16>,
    header_time: Option<Duration>,
    response_time: Option<Duration>,
}

impl UpstreamLog {
    /// A server gets the request.
    pub(crate) fn begin(&mut self, address: String) {
        self.0.push(UpstreamEntry {
            address,
            begun: Instant::now(),
            connect_time: Cell::default(),
            status: None,
            header_time: None,
            response_time: None,
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

    /// Nothing more comes of it.
    pub(crate) fn end(&mut self) {
        if let Some(entry) = self.0.last_mut().filter(|entry| entry.is_open()) {
            entry.response_time = Some(entry.begun.elapsed());
        }
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
        log.begin("a:1".to_owned());
        log.end();
        log.begin("b:2".to_owned());
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
        log.begin("a:1".to_owned());
        log.end();
        log.note_connection();
        log.note_head(404);
        check(&log, UpstreamVariable::Status, "-");
        check(&log, UpstreamVariable::ConnectTime, "-");
    }
}
