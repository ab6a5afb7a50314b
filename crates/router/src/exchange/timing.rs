//! Where the time of a request goes, noted by what answers it, and the part of its trace that others are told of.

use std::time::Instant;

use super::response::ResponseWriter;
use crate::observe::telemetry::PARENT_LEN;
use crate::reply::timings::RunTimes;

impl ResponseWriter<'_, '_> {
    /// Whether spans are made of the request.
    pub(crate) fn is_traced(&self) -> bool {
        self.request.trace.as_ref().is_some_and(|trace| trace.is_sampled())
    }

    /// Something else gets the request from now on, and is told so.
    pub(crate) fn begin_part(&mut self) {
        self.reply.timings.begin_part();
    }

    /// The value of `traceparent` for what gets the request.
    pub(crate) fn traceparent(&self) -> Option<[u8; PARENT_LEN]> {
        let trace = self.request.trace.as_ref()?;
        Some(trace.header_of_part(self.reply.timings.told()))
    }

    /// An application had the request.
    pub(crate) fn note_run(&mut self, application: &str, times: RunTimes) {
        let is_traced = self.is_traced();
        self.reply.timings.note_run(times, is_traced.then_some(application));
    }

    /// The request has waited since then for room at a server of this group.
    pub(crate) fn note_admission(&mut self, group: &str, since: Instant) {
        let now = self.now();
        if now > since {
            let is_traced = self.is_traced();
            self.reply.timings.note_admission(since, now, is_traced.then_some(group));
        }
    }

    /// A server had the request since then.
    pub(crate) fn note_upstream_time(&mut self, since: Instant) {
        self.reply.timings.upstream += self.now().saturating_duration_since(since);
    }
}
