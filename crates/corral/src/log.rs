//! How log lines look: Unit's format for files, and plain words for a person at a terminal.
//!
//! The daemon's main process, controller and router set this up; all write to standard error. The
//! levels of Unit that `tracing` does not have are targets: `alert` and `notice`.

mod threshold;

use std::fmt;
use std::io;

use corral_ipc::log::{CONTINUATION, clean};
use jiff::Zoned;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, layer};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;

use self::threshold::{Rank, Threshold};

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// `YYYY/MM/DD HH:MM:SS [level] PID#TID *CONNECTION message` (contract 2.3).
    File,
    /// The message alone, and only what a person at a terminal has to know.
    Console,
}

/// Sends what is traced in this process to standard error from now on.
pub(crate) fn init(style: Style) {
    let lines = layer().with_writer(|| Stderr).event_format(LogLines(style));
    let subscriber = tracing_subscriber::registry().with(Threshold).with(lines);
    // Called once in a process; a second call changes nothing.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Where all lines go; on a full disk they are lost without a word.
struct Stderr;

impl io::Write for Stderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        corral_ipc::log::write_line(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct LogLines(Style);

impl<S, N> FormatEvent<S, N> for LogLines
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
        let level = Rank::of(event.metadata());
        let mut text = EventText::default();
        event.record(&mut text);
        match self.0 {
            Style::File if threshold::is_json() => write_json(&mut writer, level, &text),
            Style::File => {
                let time = Zoned::now().strftime("%Y/%m/%d %H:%M:%S").to_string();
                let (pid, thread) = (std::process::id(), corral_sys::process::thread_id());
                let mut prefix = format!("{time} [{level}] {pid}#{thread} ");
                if let Some(connection) = corral_ipc::log::connection() {
                    prefix += &format!("*{connection} ");
                }
                write_lines(&mut writer, &prefix, &prefix, &text)
            }
            // Nothing is written for a line of no interest.
            Style::Console => match level {
                Rank::Debug => Ok(()),
                // Lines of a traceback are recognised without a prefix.
                _ if event.metadata().target() == APPLICATION => write_lines(&mut writer, "", "", &text),
                Rank::Info | Rank::Notice => Ok(()),
                Rank::Warn => write_lines(&mut writer, "warning: ", "", &text),
                Rank::Alert | Rank::Error => write_lines(&mut writer, "error: ", "", &text),
            },
        }
    }
}

/// Each line of a message has its prefix. All but the first one are seen not to be messages of their own.
fn write_lines(writer: &mut Writer<'_>, first: &str, others: &str, text: &EventText) -> fmt::Result {
    let text = text.to_string();
    let mut lines = text.split('\n').map(|line| clean(line.trim_end_matches('\r')));
    writeln!(writer, "{first}{}", lines.next().unwrap_or_default())?;
    lines.filter(|line| !line.is_empty()).try_for_each(|line| {
        let indent = if line.starts_with(CONTINUATION) { "" } else { CONTINUATION };
        writeln!(writer, "{others}{indent}{line}")
    })
}

/// One JSON object a line, for log collectors.
fn write_json(writer: &mut Writer<'_>, level: Rank, text: &EventText) -> fmt::Result {
    let mut line = serde_json::json!({
        "time": Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
        "level": level.to_string(),
        "pid": std::process::id(),
        "thread": corral_sys::process::thread_id(),
        "message": text.message,
    });
    if let Some(connection) = corral_ipc::log::connection() {
        line["connection"] = connection.get().into();
    }
    for (name, value) in &text.fields {
        line[*name] = value.clone().into();
    }
    writeln!(writer, "{line}")
}

/// The target of lines that applications print.
const APPLICATION: &str = "app";

/// The message of an event, and its fields behind it.
#[derive(Default)]
struct EventText {
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl fmt::Display for EventText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.fields.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

impl Visit for EventText {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.fields.push((name, format!("{value:?}"))),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            name => self.fields.push((name, value.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
