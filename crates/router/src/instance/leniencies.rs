//! Habits of an application that its interface forbids, and that are served all the same: the log says so once.
//! Runtimes see more of that, and say it by themselves.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// Something that is tolerated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leniency {
    NoChunks = 1,
    BytesBehindChunks = 2,
}

impl fmt::Display for Leniency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoChunks => {
                "a response says \"Transfer-Encoding: chunked\" and has no chunks; such bodies are sent as they are"
            }
            Self::BytesBehindChunks => {
                "a response goes on behind the last chunk that the application has made; that is left out"
            }
        })
    }
}

/// The leniencies that the log has told of.
#[derive(Debug, Default)]
pub(super) struct Leniencies(AtomicU8);

impl Leniencies {
    /// Says of an application what is wrong, once.
    pub(super) fn notice(&self, app: &str, leniency: Leniency) {
        let bit = leniency as u8;
        if self.0.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            tracing::info!(target: "notice", "\"{app}\": {leniency} (said once)");
        }
    }
}
