//! The workers of one application, one by one, and why workers end.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{WorkerId, by_place};
use crate::bounded;

/// Most workers of an application that are told of at a time.
pub const MOST_WORKERS: usize = 1000;

/// One worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// The worker's number.
    pub worker: WorkerId,
    /// The worker's process; known to main alone.
    pub pid: u32,
    /// Whether it takes requests.
    pub state: WorkerState,
    /// Requests that it has ended; not known of commands.
    pub requests: Option<u64>,
    /// Requests that it has.
    pub in_progress: u32,
    /// The request that it has run for longest.
    pub request: Option<RunningRequest>,
    /// The figures of its process; known to main alone.
    pub usage: WorkerUsage,
}

/// Whether a worker takes requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerState {
    /// Not yet.
    Starting,
    /// The worker takes some and has none.
    Idle,
    /// The worker has some.
    Busy,
    /// No more: it ends after those that it has.
    Leaving,
}

/// A request that a worker runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningRequest {
    /// The request's method.
    #[serde(deserialize_with = "bounded::words")]
    pub method: String,
    /// The pattern of its path: without a query, and without numbers and keys.
    #[serde(deserialize_with = "bounded::words")]
    pub path: String,
    /// The script that runs; empty if that is not known.
    #[serde(deserialize_with = "bounded::words")]
    pub script: String,
    /// For how long it has run.
    pub time: Duration,
    /// Where it was when it was asked last; requests of PHP are, if they run for long.
    pub backtrace: Option<Backtrace>,
}

/// Where a request was at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backtrace {
    /// The calls, the innermost first, with ` < ` between them.
    #[serde(deserialize_with = "bounded::words")]
    pub text: String,
    /// For how long the request had run then.
    pub time: Duration,
}

/// The resources that a process uses, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerUsage {
    /// When the process was started, since 1970.
    pub started: Option<Duration>,
    /// Bytes of its memory that are in RAM, also where others share them.
    pub resident: Option<u64>,
    /// The same, where each page counts for the processes that share it in equal parts.
    pub proportional: Option<u64>,
    /// The time that it has had a processor, with those of its own children that have ended.
    pub cpu: Option<Duration>,
}

/// How a person ends a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerEnding {
    /// After the requests that it has.
    Drain,
    /// At once.
    Now,
}

/// Why a worker has ended. The first two are about its process, if nothing is known of a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndCause {
    /// By itself.
    Exit,
    /// By a signal that Corral has not sent.
    Signal,
    /// The worker has had as many requests as it may.
    Requests,
    /// The worker had none for long.
    Idle,
    /// The worker has used too much memory.
    Memory,
    /// A request ran for too long.
    KillAfter,
    /// The worker broke the rules of the channel, or could not be reached.
    Broken,
    /// A person wanted it to end after its requests.
    Drained,
    /// A person wanted it to end at once.
    Ended,
    /// The application was restarted, changed or removed.
    Restart,
}

/// The names of [`EndCause`]s, in their order.
pub const END_CAUSES: [&str; 10] =
    ["exit", "signal", "requests", "idle", "memory", "kill_after", "broken", "drained", "ended", "restart"];

/// How many workers of an application there were, since the main process was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerCounts {
    /// Workers that have begun.
    pub started: u64,
    /// Workers that have ended, by [`END_CAUSES`].
    #[serde(deserialize_with = "by_place::array")]
    pub ended: [u64; END_CAUSES.len()],
}

impl WorkerStatus {
    /// A worker in this state of which nothing else is known.
    #[must_use]
    pub fn new(worker: WorkerId, state: WorkerState) -> Self {
        let (requests, request) = (None, None);
        Self { worker, pid: 0, state, requests, in_progress: 0, request, usage: WorkerUsage::default() }
    }
}

impl WorkerState {
    /// The word of the control API.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Busy => "busy",
            Self::Leaving => "leaving",
        }
    }
}

impl WorkerCounts {
    /// Counts an end.
    pub fn end(&mut self, cause: EndCause) {
        if let Some(count) = self.ended.get_mut(cause as usize) {
            *count = count.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_name() {
        for (cause, name) in [
            (EndCause::Exit, "exit"),
            (EndCause::Signal, "signal"),
            (EndCause::Requests, "requests"),
            (EndCause::Idle, "idle"),
            (EndCause::Memory, "memory"),
            (EndCause::KillAfter, "kill_after"),
            (EndCause::Broken, "broken"),
            (EndCause::Drained, "drained"),
            (EndCause::Ended, "ended"),
            (EndCause::Restart, "restart"),
        ] {
            let mut counts = WorkerCounts::default();
            counts.end(cause);
            let counted: Vec<_> = END_CAUSES.iter().zip(counts.ended).filter(|(_, n)| *n > 0).collect();
            assert_eq!(counted, [(&name, 1)]);
        }
    }
}
