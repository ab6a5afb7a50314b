//! How new processes of an application take the place of those that run (beyond Unit).

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Everything that `restart` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// Whether old and new processes may serve at the same time.
    pub mode: RestartMode,
    /// Old processes that have not finished after this long are ended.
    pub drain_timeout: Option<Duration>,
    /// A change of one of these files, folders or symbolic links restarts the application.
    pub watch: Vec<PathBuf>,
}

impl Default for Restart {
    fn default() -> Self {
        Self { mode: RestartMode::default(), drain_timeout: Some(LONGEST_DRAIN), watch: Vec::new() }
    }
}

/// Nothing that was begun before should keep old code running for ever.
const LONGEST_DRAIN: Duration = Duration::from_hours(1);

/// How requests move from old processes to new ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestartMode {
    /// New requests go to the new processes while old ones finish what they began.
    #[default]
    Rolling,
    /// New requests wait until the old processes have finished.
    Switch,
}
