//! The next part of an answer to go out: frames that are made of what is pending, as far as there is credit for it.

use corral_channel::FrameKind;

use super::{ActiveRequest, StreamProtocol};
use crate::request_state::{NextFrame, PendingBytes, ResponsePhase};

impl ActiveRequest {
    /// The frame to send next, if it may be sent. Its bytes are those of [`ActiveRequest::pending`].
    pub(in super::super) fn next_step(&self, max_payload: usize) -> Option<NextFrame> {
        if let Some(room) = self.arriving.news().filter(|_| !self.response.has_request_ended()) {
            let frame = self.response.frame(FrameKind::BodyCredit).with_aux(room);
            return Some(NextFrame { frame, n_bytes: 0 });
        }
        if self.is_bare_head() {
            return None;
        }
        self.response.next_frame(&self.pending_bytes(), &self.client, max_payload)
    }

    fn pending_bytes(&self) -> PendingBytes {
        PendingBytes {
            n_informational: self.informational.front().map_or(0, Vec::len),
            n_response: self.n_unsent(),
            n_trailers: self.trailers.len(),
        }
    }

    /// A head that nothing follows yet waits for that, unless the other side waits for it.
    fn is_bare_head(&self) -> bool {
        let n_head = self.response.n_head();
        n_head > 0
            && n_head == self.n_unsent()
            && self.informational.is_empty()
            && self.phase() == ResponsePhase::Begun
            && self.protocol != StreamProtocol::WebSocket
    }

    /// Whether nothing of the body is sent that comes next, whatever is written.
    pub(in super::super) fn drops_body(&self) -> bool {
        self.response.is_bodiless() && self.phase() == ResponsePhase::Begun
    }

    /// The frame to send with a file, if that can come next.
    pub(in super::super) fn step_with_file(&self, max_payload: usize, ends: bool) -> Option<NextFrame> {
        let is_begun = self.protocol == StreamProtocol::Http && self.phase() == ResponsePhase::Begun;
        if !is_begun || !self.informational.is_empty() {
            return None;
        }
        self.response.file_frame(self.n_unsent(), ends, &self.client, max_payload)
    }

    /// The bytes of a step.
    pub(in super::super) fn pending(&self, step: &NextFrame) -> &[u8] {
        match (step.frame.kind, self.informational.front()) {
            (FrameKind::Informational, Some(head)) => head,
            (FrameKind::Trailers, _) => &self.trailers,
            _ => &self.out[self.n_sent..][..step.n_bytes],
        }
    }

    /// A step has been taken.
    pub(in super::super) fn sent(&mut self, step: &NextFrame) {
        match step.frame.kind {
            FrameKind::BodyCredit => return self.arriving.told(),
            FrameKind::Informational => drop(self.informational.pop_front()),
            FrameKind::Trailers => self.trailers.clear(),
            _ => self.n_sent += step.n_bytes,
        }
        if self.n_sent == self.out.len() {
            self.out.clear();
            self.n_sent = 0;
        }
        self.response.sent(step, &mut self.client);
    }
}
