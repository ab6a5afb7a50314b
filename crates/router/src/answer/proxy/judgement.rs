//! A look at the head of a server's response: how fast the server was, and whether the status is one after which the
//! request goes on to another one.

use std::time::Instant;

use super::retry::{FailedAttempt, RetryState};
use super::upload::Upload;
use crate::clock::Millis;
use crate::exchange::response::ResponseWriter;
use crate::upstream::{LoopGroup, LoopServer, ServerFailure};

/// The judge of responses to one request.
pub(crate) struct Judge<'j> {
    pub(super) group: &'j LoopGroup,
    pub(super) retries: &'j RetryState,
    /// The servers that have had the request, the present one among them.
    pub(super) tried: &'j [usize],
    /// When the first of them got it.
    pub(super) begun: Instant,
    /// When the present one got it.
    pub(super) sent: Instant,
}

/// Notes that a server has answered; the failure that its answer is, if the request is to go on to another server.
pub(super) fn judge(
    judge: Option<&Judge<'_>>,
    (response, server): (&ResponseWriter<'_, '_>, &LoopServer),
    status: u16,
    upload: &Upload,
) -> Option<ServerFailure> {
    match judge {
        Some(judge) => judge.decide((response, server), status, upload),
        None => {
            server.shared.health.succeeded();
            None
        }
    }
}

impl Judge<'_> {
    fn decide(
        &self,
        (response, server): (&ResponseWriter<'_, '_>, &LoopServer),
        status: u16,
        upload: &Upload,
    ) -> Option<ServerFailure> {
        let now = response.now();
        let took = now.saturating_duration_since(self.sent);
        server.figures().times().response.note(took);
        if self.group.measures_times() {
            server.shared.times.note(took, Millis::of(now));
        }
        if !self.group.shared.upstream.retry_on.has(status) {
            server.shared.health.succeeded();
            return None;
        }
        let failure = ServerFailure::Status(status);
        let elapsed = now.saturating_duration_since(self.begun);
        let attempt = FailedAttempt { elapsed, ..FailedAttempt::new(&failure) };
        if self.retries.would_permit(attempt, upload.can_rewind()) && self.group.has_other(self.tried, now) {
            return Some(failure);
        }
        // The client gets it, for want of a better one.
        if failure.is_theirs() {
            server.figures().failures.add(1);
            server.shared.health.failed(&server.shared.passive, Millis::of(now));
        }
        None
    }
}
