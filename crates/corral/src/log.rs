//! How log lines look: Unit's format for files, and plain words for a person at a terminal.
//!
//! The daemon's main process, controller and router set this up; all write to standard error. The
//! levels of Unit that `tracing` does not have are targets: `alert` and `notice`.

use std::fmt::{self, Write};
use std::io;

use jiff::Zoned;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// For whom the lines are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// `YYYY/MM/DD HH:MM:SS [level] PID#TID message` (UNIT-COMPAT 2.3).
    File,
    /// The message alone, and only what a person at a terminal has to know.
    Console,
}

/// Sends what is traced in this process to standard error from now on.
pub(crate) fn init(style: Style) {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::INFO)
        .with_writer(io::stderr)
        .event_format(Lines(style))
        .finish();
    // Called once in a process; a second call changes nothing.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

struct Lines(Style);

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = level_name(event.metadata());
        let mut text = Text::default();
        event.record(&mut text);
        match self.0 {
            Style::File => {
                let time = Zoned::now().strftime("%Y/%m/%d %H:%M:%S").to_string();
                let (pid, thread) = (std::process::id(), corral_sys::process::thread_id());
                writeln!(writer, "{time} [{level}] {pid}#{thread} {text}")
            }
            // Nothing is written for a line of no interest.
            Style::Console => match level {
                "info" | "notice" if event.metadata().target() != APPLICATION => Ok(()),
                "info" | "notice" => writeln!(writer, "{text}"),
                "warn" => writeln!(writer, "warning: {text}"),
                _ => writeln!(writer, "error: {text}"),
            },
        }
    }
}

fn level_name(metadata: &Metadata<'_>) -> &'static str {
    match (metadata.target(), *metadata.level()) {
        ("alert", _) => "alert",
        ("notice" | APPLICATION, _) => "notice",
        (_, Level::ERROR) => "error",
        (_, Level::WARN) => "warn",
        (_, Level::INFO) => "info",
        _ => "debug",
    }
}

/// The target of lines that applications print.
const APPLICATION: &str = "app";

/// The message of an event, and its fields behind it.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.message, self.fields)
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value}"),
            name => write!(self.fields, " {name}={value}"),
        };
    }
}

#[cfg(test)]
mod tests;
