//! Failures of a component, for the log.

use std::fmt;

use wasmtime::WasmBacktrace;
use wasmtime_wasi::I32Exit;

use crate::deadline::Overdue;

/// Why an instance has ended before it had answered.
pub(crate) enum EarlyEnd {
    /// A trap, or something like it.
    Component {
        error: wasmtime::Error,
        /// The component was refused memory before.
        lacked_memory: bool,
    },
    /// The component had run for too long.
    Overdue(Overdue),
}

impl EarlyEnd {
    /// The status that the client gets, if no response was begun.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Component { .. } => 500,
            Self::Overdue(Overdue::Timeout(_)) => 503,
            // As when a worker is killed for it.
            Self::Overdue(Overdue::KillAfter(_)) => 504,
        }
    }
}

impl fmt::Display for EarlyEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Component { error, lacked_memory } => {
                match error.downcast_ref::<I32Exit>() {
                    Some(I32Exit(code)) => write!(f, "it has called exit({code})")?,
                    None => write!(f, "{}", error.root_cause())?,
                }
                if *lacked_memory {
                    f.write_str(", after it was refused memory (limits.memory)")?;
                }
                error.downcast_ref::<WasmBacktrace>().map_or(Ok(()), |trace| write!(f, "\n{trace}"))
            }
            Self::Overdue(overdue) => write!(f, "ended: {overdue}"),
        }
    }
}
