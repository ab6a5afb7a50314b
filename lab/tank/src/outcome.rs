//! A request on its way, and what became of it.

use crate::clock::Nanos;
use crate::failure::Failure;

/// A request that is due or was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Job {
    /// The index of the request.
    pub(crate) request: usize,
    /// When the request should have been sent.
    pub(crate) due: Nanos,
    /// When a connection took the request.
    pub(crate) taken: Nanos,
    /// The place in its origin's deadlines.
    pub(crate) place: u64,
    /// Whether the request had to wait for a connection.
    pub(crate) has_waited: bool,
    /// How often a connection gave the request back without a server having begun it.
    pub(crate) n_returned: u8,
}

impl Job {
    /// A request that no connection has taken.
    pub(crate) fn new(request: usize, due: Nanos) -> Self {
        Self { request, due, taken: 0, place: u64::MAX, has_waited: false, n_returned: 0 }
    }
}

/// Moments of a request on its connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Since when the connection is ready for the request; the moment when it was taken, if the connection was kept.
    pub(crate) ready: Nanos,
    /// When all of the request was handed to the system; 0 before.
    pub(crate) sent: Nanos,
    /// When the first bytes of the answer were read; 0 before.
    pub(crate) answered: Nanos,
}

/// The end of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) job: Job,
    pub(crate) marks: Marks,
    pub(crate) end: Nanos,
    pub(crate) failure: Option<Failure>,
    /// The status of the answer; 0 without one.
    pub(crate) status: u16,
    pub(crate) size_out: u64,
    pub(crate) size_in: u64,
}

impl Outcome {
    /// A request without a whole answer.
    pub(crate) fn failed(job: Job, marks: Marks, end: Nanos, failure: Failure) -> Self {
        Self { job, marks, end, failure: Some(failure), status: 0, size_out: 0, size_in: 0 }
    }

    /// The time since the request was due.
    pub(crate) fn response_time(&self) -> Nanos {
        self.end.saturating_sub(self.job.due)
    }

    /// The time since a connection took the request; 0 if none did.
    pub(crate) fn service_time(&self) -> Nanos {
        if self.job.taken == 0 { 0 } else { self.end.saturating_sub(self.job.taken) }
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.failure.is_none_or(Failure::is_answer)
    }
}
