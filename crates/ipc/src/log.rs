//! Facts that the log of a process needs besides its lines, and that the code which formats them cannot see: the
//! configuration, which reaches it as an event that only the subscriber understands, and the connection at hand.
//!
//! Main, controller and router come to know their configuration in different ways, and none of them knows how its lines
//! are formatted.

use std::borrow::Cow;
use std::cell::Cell;
use std::io;
use std::num::NonZeroU64;

use corral_config::settings::LogSettings;

use crate::lines::LineFile;

/// Target of the event; its fields are `level` and `format`, by number.
pub const SETTINGS: &str = "corral::log::settings";

/// From now on this process logs as the configuration wants it.
pub fn obey(settings: LogSettings) {
    let (level, format) = (settings.level as u64, settings.format as u64);
    tracing::error!(target: SETTINGS, level, format);
}

static STDERR: LineFile = LineFile::new();

/// Writes a line, with its end, to standard error, where the log is. One that cannot be written is lost: there is no
/// other place to say so.
pub fn write_line(line: &[u8]) {
    let _ = STDERR.write(io::stderr().lock(), line);
}

/// The beginning of a line that continues the line before it. No other line begins so: the words of an application or a
/// client cannot be taken for a line of ours.
pub const CONTINUATION: &str = "  ";

/// A line without what moves a terminal's cursor, changes its colours, or has text read in another order than it is in:
/// that is shown as `\u{1b}`.
#[must_use]
pub fn clean(line: &str) -> Cow<'_, str> {
    if !line.contains(is_unfit) {
        return line.into();
    }
    let escape = |c| if is_unfit(c) { c.escape_default().to_string() } else { c.to_string() };
    line.chars().map(escape).collect()
}

fn is_unfit(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && c != '\t') || turns
}

/// The number of a connection, as it stands in log lines.
pub type ConnectionId = NonZeroU64;

thread_local! {
    static CONNECTION: Cell<Option<ConnectionId>> = const { Cell::new(None) };
}

/// Does what is done for a connection: lines that are logged meanwhile are about it.
pub fn about<R>(connection: ConnectionId, act: impl FnOnce() -> R) -> R {
    let _before = Before(CONNECTION.replace(Some(connection)));
    act()
}

/// The connection that this thread works for.
pub fn connection() -> Option<ConnectionId> {
    CONNECTION.get()
}

/// Puts back what was there before, also when the work ends in a panic.
struct Before(Option<ConnectionId>);

impl Drop for Before {
    fn drop(&mut self) {
        CONNECTION.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_line_is_taken_for_more_than_text() {
        for line in ["", "a line", "Zeile für Zeile\tmit Tabulator", "行"] {
            assert_eq!(clean(line), line);
        }
        for (line, shown) in [
            ("\x1b[31mred", "\\u{1b}[31mred"),
            ("old\rnew", "old\\rnew"),
            ("one\ntwo", "one\\ntwo"),
            ("\0\x7f\u{9b}2J", "\\u{0}\\u{7f}\\u{9b}2J"),
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
        ] {
            assert_eq!(clean(line), shown);
        }
    }

    #[test]
    fn lines_are_about_a_connection_while_it_is_worked_for() {
        let ids = [1, 2].map(|id| ConnectionId::new(id).expect("it is not 0"));
        assert_eq!(connection(), None);
        about(ids[0], || {
            about(ids[1], || assert_eq!(connection(), Some(ids[1])));
            assert_eq!(connection(), Some(ids[0]));
        });
        assert_eq!(connection(), None);
        std::panic::catch_unwind(|| about(ids[0], || panic!("on purpose"))).unwrap_err();
        assert_eq!(connection(), None);
    }
}
