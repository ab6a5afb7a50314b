//! Options of a Perl application.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The parts of a Perl application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerlSpec {
    /// Ends with the PSGI application.
    pub script: PathBuf,
    /// The prototype loads the script, and workers share it.
    pub preload: bool,
    /// Interpreters in each process.
    pub threads: NonZeroU32,
    /// Bytes of stack of each thread; `None` leaves it to the system.
    pub thread_stack_size: Option<NonZeroUsize>,
}
