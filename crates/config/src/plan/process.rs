//! Applications that no listener reaches: commands that run all the time, or at times.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Options of an application of `type: "process"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSpec {
    /// The command that runs.
    pub command: CommandLine,
    /// Number of the signal by which a process is told to end.
    pub stop_signal: i32,
    /// The application whose restarts and changes restart this one, too.
    pub with: Option<String>,
    /// When the command runs. Without it, it runs all the time.
    pub schedule: Option<ScheduleSpec>,
    /// The number of processes follows the length of this queue.
    pub queue: Option<QueueSpec>,
}

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// A path, or a name that is looked for in `PATH`.
    pub executable: PathBuf,
    /// Behind its own name.
    pub arguments: Vec<String>,
}

/// The queue by whose length a command has more or fewer processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueSpec {
    /// A program that prints the length.
    pub command: CommandLine,
    /// Jobs for which there is one process.
    pub per_process: NonZeroU32,
    /// Time from one look at the length to the next one.
    pub interval: Duration,
    /// A program that takes longer is ended.
    pub timeout: Duration,
}

/// When a command runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleSpec {
    /// A text that `Schedule::parse` takes.
    pub cron: String,
    /// Name of the time zone; `None` means the daemon's.
    pub time_zone: Option<String>,
    /// A run begins later by any time up to this.
    pub jitter: Duration,
    /// The treatment of a time that comes while the command runs.
    pub overlap: Overlap,
    /// A run that takes longer is ended.
    pub timeout: Option<Duration>,
}

/// The treatment of a time that comes while the command runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Overlap {
    /// Nothing.
    #[default]
    Skip,
    /// A run follows as soon as the command has ended.
    Queue,
    /// A second process runs beside the first.
    Allow,
}

impl CommandLine {
    /// The executable, if it is not looked for.
    #[must_use]
    pub fn executable_path(&self) -> Option<&Path> {
        self.executable.as_os_str().as_encoded_bytes().contains(&b'/').then_some(&*self.executable)
    }
}

/// Time between telling a run of a schedule to end and killing it.
const RUN_GRACE: Duration = Duration::from_secs(10);

impl ProcessSpec {
    /// Time between telling a process to end and killing it, where the application has so long to finish at a restart.
    #[must_use]
    pub fn grace(&self, drain_timeout: Option<Duration>) -> Option<Duration> {
        if self.schedule.is_some() { Some(RUN_GRACE) } else { drain_timeout }
    }
}
