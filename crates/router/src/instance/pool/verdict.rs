//! Verdicts on workers: a finding, and the consequence of it.

use std::time::Duration;

use corral_channel::{Lane, RequestId};
use corral_ipc::message::WorkerId;

/// Something about a worker that is worth a line, or its end.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) verdict: WorkerVerdict,
    pub(crate) worker: WorkerId,
    pub(crate) pid: u32,
    /// The request that it runs, encoded; empty if it runs none.
    pub(crate) payload: Vec<u8>,
    /// The worker's note about what it runs; empty if that is not known.
    pub(crate) note: Vec<u8>,
}

/// A finding, and so its consequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerVerdict {
    /// A request took this long, and has ended.
    WasSlow(Duration),
    /// A request has taken this long, and goes on.
    IsSlow(Duration),
    /// The worker uses so many bytes, and leaves after its request.
    Replace(u64),
    /// The worker is to be killed.
    Kill(WorkerExcess),
}

/// A bound that a worker has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerExcess {
    /// The time for one request.
    Time(Duration),
    /// Memory, in bytes.
    Memory(u64),
}

/// Why a worker is to be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KillReason {
    /// The request that it ran.
    pub(crate) request: Option<(Lane, RequestId)>,
    pub(crate) excess: WorkerExcess,
}

/// A worker that is to be killed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BrokenWorker {
    pub(crate) worker: WorkerId,
    pub(crate) reason: String,
}
