//! The terminal that a foreground process belongs to, and whether it is still there.

use std::io::{IsTerminal, stderr, stdin, stdout};

use corral_sys::signal::{self, Signal};

/// The meaning of SIGHUP for this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// The signal means nothing.
    None,
    /// The end of the process as long as it serves one given document, which nothing can change.
    Any,
    /// The end of the process, if the terminal is gone by then.
    Watched,
}

impl Terminal {
    /// The meaning for a process in the foreground. A process that was told to outlive its terminal (`nohup`) does.
    pub(crate) fn of_this_process(serves_one_document: bool) -> Self {
        match () {
            () if signal::is_ignored(Signal::HUP) => Self::None,
            () if serves_one_document => Self::Any,
            () if is_there() => Self::Watched,
            () => Self::None,
        }
    }

    /// Whether a SIGHUP that has come is for the end.
    pub(crate) fn has_hung_up(self) -> bool {
        match self {
            Self::None => false,
            Self::Any => true,
            Self::Watched => !is_there(),
        }
    }
}

/// A terminal that was closed is none any more.
fn is_there() -> bool {
    stdin().is_terminal() || stdout().is_terminal() || stderr().is_terminal()
}
