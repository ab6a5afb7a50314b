//! Whether a request that has failed is tried again: one rule for groups of servers, for the connections of one server
//! and for programs, from facts alone. The loops around it choose what the next attempt is made on.
//!
//! Another attempt must do no harm: nothing has come of the last one, or it may happen twice. And it needs a prospect:
//! a target that may do better.

use std::time::Duration;

use corral_config::upstream::RetryFailures;

use super::upload::Upload;
use crate::upstream::{LoopServer, Retry, ServerFailure};

/// How often a server gets a request again that it says not to have begun with, or whose connection it has closed.
const MOST_STREAMS: u32 = 3;

/// Programs that a request is given to one after the other when they accept no connections.
const MOST_PROGRAMS: u32 = 5;

/// Where a request can be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryTarget {
    /// Other servers of a group, so many and for so long.
    Server { most: u32, timeout: Option<Duration> },
    /// Another connection of HTTP/1 to the same server.
    Connection,
    /// Another stream of HTTP/2 at the same server.
    Stream,
    /// Another process of the same server, which takes the next connection.
    Process,
    /// Another program of an application.
    Program,
}

impl RetryTarget {
    /// The servers of a group of so many, each of which is asked once.
    pub(crate) fn server(n_servers: usize, most: u32, timeout: Option<Duration>) -> Self {
        let n_others = u32::try_from(n_servers).unwrap_or(u32::MAX).saturating_sub(1);
        Self::Server { most: most.min(n_others), timeout }
    }
}

/// The facts of an attempt that has failed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FailedAttempt<'f> {
    pub(crate) failure: &'f ServerFailure,
    /// The connection, or the program, has served requests before: that it serves no more says nothing of a new one.
    pub(crate) was_used: bool,
    /// The server may have died of the request.
    pub(crate) is_suspect: bool,
    /// Time since the first attempt.
    pub(crate) elapsed: Duration,
}

impl<'f> FailedAttempt<'f> {
    pub(crate) fn new(failure: &'f ServerFailure) -> Self {
        Self { failure, was_used: false, is_suspect: false, elapsed: Duration::ZERO }
    }
}

/// The attempts of one request at one kind of target.
#[derive(Debug)]
pub(crate) struct RetryState {
    target: RetryTarget,
    /// A server may act on the request twice.
    is_idempotent: bool,
    /// Further failures that permit a retry.
    further: RetryFailures,
    /// Retries that count.
    n_retries: u32,
    /// A program may have acted on the request, and another one got it all the same.
    is_repeated: bool,
    /// A retry was permitted which has not begun.
    is_due: bool,
}

impl RetryState {
    pub(crate) fn new(target: RetryTarget, is_idempotent: bool) -> Self {
        let further = RetryFailures::default();
        Self { target, is_idempotent, further, n_retries: 0, is_repeated: false, is_due: false }
    }

    /// Tries again after these failures, too.
    pub(crate) fn also_after(self, further: RetryFailures) -> Self {
        Self { is_idempotent: self.is_idempotent || further.non_idempotent, further, ..self }
    }

    /// An attempt begins at the same server as the last one, for which a connection is there.
    pub(crate) fn begin(&mut self, server: &LoopServer) {
        if std::mem::take(&mut self.is_due) {
            server.figures().retries.add(1);
        }
    }

    /// Whether the request is tried again; its body then starts anew.
    pub(crate) fn retry(&mut self, attempt: FailedAttempt<'_>, upload: &mut Upload) -> bool {
        let is_permitted = self.permit(attempt, upload.can_rewind());
        if is_permitted {
            upload.rewind();
        }
        is_permitted
    }

    /// Whether the request is tried again, which is counted.
    pub(crate) fn permit(&mut self, attempt: FailedAttempt<'_>, can_rewind: bool) -> bool {
        self.is_due = self.would_permit(attempt, can_rewind);
        if self.is_due {
            self.count(attempt);
        }
        self.is_due
    }

    /// Whether the request would be tried again.
    pub(crate) fn would_permit(&self, attempt: FailedAttempt<'_>, can_rewind: bool) -> bool {
        can_rewind && self.is_harmless(attempt) && self.has_prospect(attempt)
    }

    /// Whether a program that may have acted on the request before it failed is followed by another one.
    pub(crate) fn may_repeat(&self) -> bool {
        self.is_idempotent && !self.is_repeated
    }

    fn is_harmless(&self, attempt: FailedAttempt<'_>) -> bool {
        !attempt.is_suspect
            && match attempt.failure.retry() {
                Retry::Any => true,
                Retry::Idempotent => self.is_idempotent,
                Retry::Never => self.is_idempotent && self.is_further(attempt.failure),
            }
    }

    fn is_further(&self, failure: &ServerFailure) -> bool {
        let RetryFailures { timeout, invalid_response, .. } = self.further;
        timeout && failure.is_late() || invalid_response && failure.is_nonsense()
    }

    fn has_prospect(&self, attempt: FailedAttempt<'_>) -> bool {
        let FailedAttempt { failure, was_used, elapsed, .. } = attempt;
        let is_answer = matches!(failure, ServerFailure::Status(_));
        if is_answer && !matches!(self.target, RetryTarget::Server { .. }) {
            // The same server would give it again.
            return false;
        }
        let is_broken = failure.retry() == Retry::Idempotent;
        let is_unreached = matches!(failure, ServerFailure::Connect(_));
        match self.target {
            RetryTarget::Server { most, timeout } => {
                self.n_retries < most && timeout.is_none_or(|limit| elapsed < limit)
            }
            // The server may have closed it since its last request.
            RetryTarget::Connection => was_used && is_broken,
            RetryTarget::Stream => {
                let is_refused = matches!(failure, ServerFailure::Refused(_));
                self.n_retries < MOST_STREAMS && (is_refused || was_used && is_broken)
            }
            // A process that leaves may have accepted a new connection, too.
            RetryTarget::Process => was_used || self.n_retries == 0 && (is_broken || is_unreached),
            RetryTarget::Program if is_unreached => was_used || self.n_retries + 1 < MOST_PROGRAMS,
            RetryTarget::Program => is_broken && !self.is_repeated,
        }
    }

    fn count(&mut self, attempt: FailedAttempt<'_>) {
        let FailedAttempt { failure, was_used, .. } = attempt;
        match self.target {
            RetryTarget::Server { .. } | RetryTarget::Connection | RetryTarget::Stream => self.n_retries += 1,
            RetryTarget::Process => self.n_retries = u32::from(!was_used),
            RetryTarget::Program if failure.retry() == Retry::Any => self.n_retries += u32::from(!was_used),
            RetryTarget::Program => self.is_repeated = true,
        }
    }
}

#[cfg(test)]
mod tests;
