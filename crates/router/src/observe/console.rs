//! Requests on the terminal, for `corral run`: one short line each, coloured where colours can be seen. Main writes
//! there: this process has a pipe to it and no terminal.

use std::io::Write;
use std::sync::OnceLock;

use crate::storage::buffers;
use crate::variables::RequestVariables;

static CONSOLE: OnceLock<RequestConsole> = OnceLock::new();

/// Where the lines go.
pub(crate) struct RequestConsole {
    colours: bool,
}

/// Turned on once, at start.
pub(crate) fn enable(colours: bool) {
    // Only the first call counts; the router starts once in a process.
    let _ = CONSOLE.set(RequestConsole { colours });
}

/// The console, if requests are shown.
pub(crate) fn get() -> Option<&'static RequestConsole> {
    CONSOLE.get()
}

impl RequestConsole {
    /// `12:34:56 200 GET /path 1.2 ms 345 B`
    pub(crate) fn write(&self, request: &RequestVariables<'_>) {
        let mut line = buffers::take();
        // Writing to memory cannot fail, and a main that is gone ends this process anyway.
        let _ = self.append(request, &mut line).and_then(|()| std::io::stdout().write_all(&line));
        buffers::give(line);
    }

    fn append(&self, request: &RequestVariables<'_>, line: &mut Vec<u8>) -> std::io::Result<()> {
        let (head, bytes) = (request.request.head, request.request.bytes);
        let method = String::from_utf8_lossy(head.method(bytes));
        let target = String::from_utf8_lossy(head.target(bytes));
        let elapsed = request.request.started.elapsed().as_secs_f64() * 1e3;
        let status = request.reply.status.unwrap_or_default();
        let time = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
        let (colour, dim, plain) = if self.colours { (colour(status), DIM, PLAIN) } else { ("", "", "") };
        writeln!(
            line,
            "{dim}{time}{plain} {colour}{:03}{plain} {} {} {dim}{elapsed:.1} ms {}{plain}",
            status,
            method.escape_debug(),
            target.escape_debug(),
            size(request.reply.n_body_bytes),
        )
    }
}

const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

fn colour(status: u16) -> &'static str {
    match status {
        200..=299 => "\x1b[32m",
        300..=399 => "\x1b[36m",
        400..=499 => "\x1b[33m",
        _ => "\x1b[31m",
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
