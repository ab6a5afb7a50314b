//! The access log: one line for each request, written at once.

use std::fs::File;
use std::io::Write;

use corral_config::template::{Template, Variable, Variables};

use parking_lot::RwLock;

use crate::buffers;

/// The combined format that web servers share.
const DEFAULT_FORMAT: &[u8] = b"$remote_addr - - [$time_local] \"$request_line\" $status $body_bytes_sent \
    \"$header_referer\" \"$header_user_agent\"";

/// An open log; its file is in append mode, so that lines of several event loops do not mix.
pub(crate) struct AccessLog {
    /// Exchanged when log files are reopened.
    file: RwLock<File>,
    format: Template,
}

impl AccessLog {
    pub(crate) fn new(file: File) -> Self {
        let format = Template::parse(DEFAULT_FORMAT).expect("the default format is a valid template");
        Self { file: RwLock::new(file), format }
    }

    /// Goes on in another file.
    pub(crate) fn replace_file(&self, file: File) {
        *self.file.write() = file;
    }

    /// Writes one line. A log that cannot be written never fails a request.
    pub(crate) fn write(&self, variables: &mut dyn Variables) {
        let mut line = buffers::take();
        if let Err(exception) = self.format.render(&mut Escaped(variables), &mut line) {
            tracing::error!("access log: {exception}");
        }
        line.push(b'\n');
        if let Err(error) = (&*self.file.read()).write_all(&line) {
            tracing::error!("write to the access log: {error}");
        }
        buffers::give(line);
    }
}

/// Values as they may stand in a log line: what is not set is `-`, and nothing breaks out of its quotes.
struct Escaped<'v>(&'v mut dyn Variables);

impl Variables for Escaped<'_> {
    fn append(&mut self, variable: &Variable, out: &mut Vec<u8>) {
        let start = out.len();
        self.0.append(variable, out);
        if out.len() == start {
            out.push(b'-');
        } else if out[start..].iter().any(|&byte| needs_escape(byte)) {
            let value = out.split_off(start);
            escape(&value, out);
        }
    }
}

fn needs_escape(byte: u8) -> bool {
    byte < b' ' || byte == 0x7f || byte == b'"' || byte == b'\\'
}

/// As nginx does: `\xHH` for what could end the line or the quotes.
fn escape(value: &[u8], out: &mut Vec<u8>) {
    for &byte in value {
        if needs_escape(byte) {
            write!(out, "\\x{byte:02X}").expect("writing to memory cannot fail");
        } else {
            out.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(&'static [u8]);

    impl Variables for Fixed {
        fn append(&mut self, _: &Variable, out: &mut Vec<u8>) {
            out.extend_from_slice(self.0);
        }
    }

    #[track_caller]
    fn check(value: &'static [u8], expect: &[u8]) {
        let mut out = Vec::new();
        Escaped(&mut Fixed(value)).append(&Variable::Uri, &mut out);
        assert_eq!(out, expect);
    }

    #[test]
    fn values_stay_within_their_quotes() {
        check(b"curl/8", b"curl/8");
        check(b"", b"-");
        check(b"a\" 200 \"", b"a\\x22 200 \\x22");
        check(b"a\nb\\", b"a\\x0Ab\\x5C");
        check("é".as_bytes(), "é".as_bytes());
    }
}
