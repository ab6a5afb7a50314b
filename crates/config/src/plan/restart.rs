//! How new processes of an application take the place of those that run (beyond Unit).

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Everything that `restart` says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// Whether old and new processes may serve at the same time.
    pub mode: RestartMode,
    /// Old processes that have not finished after this long are ended.
    pub drain_timeout: Option<Duration>,
    /// A change of one of these files, folders or symbolic links restarts the application.
    pub watch: Vec<PathBuf>,
}

/// How requests move from old processes to new ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestartMode {
    /// New requests go to the new processes while old ones finish what they began.
    #[default]
    Rolling,
    /// New requests wait until the old processes have finished.
    Switch,
}
