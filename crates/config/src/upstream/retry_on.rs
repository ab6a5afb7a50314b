//! `retry_on`: answers and failures after which a request goes on to another server.

use std::ops::RangeInclusive;

/// Reasons to try a request again, beside servers that could not be reached or that have ended the connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetryOn {
    /// Statuses of responses.
    pub statuses: Vec<RangeInclusive<u16>>,
    /// Failures in place of a response.
    pub failures: RetryFailures,
}

/// Failures that a request is tried again after.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetryFailures {
    /// The server has taken too long.
    pub timeout: bool,
    /// The bytes that it sent are not a response.
    pub invalid_response: bool,
    /// Requests that may not be repeated are tried again, too, though the server may have acted on them.
    pub non_idempotent: bool,
}

impl RetryOn {
    /// Whether the status is one of those.
    #[must_use]
    pub fn has(&self, status: u16) -> bool {
        self.statuses.iter().any(|range| range.contains(&status))
    }
}
