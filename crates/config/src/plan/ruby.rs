//! Options of a Ruby application.

use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The parts of a Ruby application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RubySpec {
    /// Describes the Rack application: `config.ru`.
    pub script: PathBuf,
    /// Says what to do when workers begin and end.
    pub hooks: Option<PathBuf>,
    /// The prototype loads the application, and workers share it.
    pub preload: bool,
    /// Requests that one process runs at the same time.
    pub threads: NonZeroU32,
}
