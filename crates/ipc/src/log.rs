//! What the log of a process has to know besides its lines, and the one who formats them cannot see: the
//! configuration, which reaches it as an event that only the subscriber understands, and the connection at hand.
//!
//! Main, controller and router come to know their configuration in different ways, and none of them knows
//! who formats its lines.

use std::cell::Cell;
use std::io;
use std::num::NonZeroU64;

use corral_config::settings::LogSettings;

use crate::lines::Lines;

/// Target of the event; its fields are `level` and `format`, by number.
pub const SETTINGS: &str = "corral::log::settings";

/// From now on this process logs as the configuration wants it.
pub fn obey(settings: LogSettings) {
    let (level, format) = (settings.level as u64, settings.format as u64);
    tracing::error!(target: SETTINGS, level, format);
}

static STDERR: Lines = Lines::new();

/// Writes a line, with its end, to standard error, where the log is. One that cannot be written is lost: there is no
/// other place to say so.
pub fn write_line(line: &[u8]) {
    let _ = STDERR.write(io::stderr().lock(), line);
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
