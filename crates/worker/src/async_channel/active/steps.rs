//! The next part of an answer to go out: frames that are made of what is pending, as far as there is credit for it.

use corral_channel::message::FilePart;
use corral_channel::{Flags, FrameHead, FrameKind};

use super::{ActiveRequest, NextFrame, PendingResponse, Reading, StreamProtocol, Told};

impl ActiveRequest {
    /// The frame to send next, if it may be sent. Its bytes are those of [`ActiveRequest::pending`].
    pub(in super::super) fn next_step(&self, max_payload: usize) -> Option<NextFrame> {
        if self.is_done() {
            return None;
        }
        if let Some(room) = self.arriving.news().filter(|_| self.ran.is_none()) {
            let frame = self.frame(FrameKind::BodyCredit, Flags::NONE).with_aux(room);
            return Some(NextFrame { frame, n_bytes: 0 });
        }
        if let Some(head) = self.informational.front() {
            let frame = self.frame(FrameKind::Informational, Flags::NONE);
            return (head.len() as u64 <= self.credit).then_some(NextFrame { frame, n_bytes: head.len() });
        }
        if self.n_pending() == 0 && !self.trailers.is_empty() {
            let n_bytes = self.trailers.len();
            let frame = self.frame(FrameKind::Trailers, Flags::NONE);
            return (n_bytes as u64 <= self.credit).then_some(NextFrame { frame, n_bytes });
        }
        if self.n_pending() == 0 {
            return self.last_step();
        }
        // A head that nothing follows yet waits for that, unless the other side waits for it.
        let n_body = self.n_pending() - self.n_head;
        let is_bare = self.n_head > 0 && n_body == 0;
        if is_bare && self.response == PendingResponse::Begun && self.protocol != StreamProtocol::WebSocket {
            return None;
        }
        let n_allowed = usize::try_from(self.credit).unwrap_or(usize::MAX);
        let n_now = n_body.min(n_allowed).min(max_payload - self.n_head);
        if n_now == 0 && n_body > 0 && self.n_head == 0 {
            return None;
        }
        let kind = if self.n_head > 0 { FrameKind::Response } else { FrameKind::Data };
        let flags = if n_now == n_body { self.closing_flags() } else { Flags::NONE };
        let frame = self.frame(kind, flags).with_aux(self.micros(flags));
        Some(NextFrame { frame, n_bytes: self.n_head + n_now })
    }

    /// Whether nothing of the body is sent that comes next, whatever is written.
    pub(in super::super) fn drops_body(&self) -> bool {
        self.bodiless && self.response == PendingResponse::Begun
    }

    /// The frame to send with a file, if that can come next.
    pub(in super::super) fn step_with_file(&self, max_payload: usize, ends: bool) -> Option<NextFrame> {
        let n_bytes = self.n_pending();
        let is_begun = self.protocol == StreamProtocol::Http && self.response == PendingResponse::Begun;
        let is_next = self.informational.is_empty() && is_begun;
        let fits = n_bytes + FilePart::SIZE <= max_payload && (n_bytes - self.n_head) as u64 <= self.credit;
        let kind = if self.n_head > 0 { FrameKind::Response } else { FrameKind::Data };
        let flags = if ends { Flags::END } else { Flags::NONE };
        (is_next && fits).then(|| NextFrame { frame: self.frame(kind, flags), n_bytes })
    }

    /// A frame was sent with its file.
    pub(in super::super) fn sent_with_file(&mut self, step: &NextFrame) {
        self.sent(&step.frame, step.n_bytes);
        if step.frame.flags.contains(Flags::END) {
            self.response = PendingResponse::Whole;
        }
    }

    /// Whether the client is to see that the response is not whole.
    fn has_failed(&self) -> bool {
        self.response == PendingResponse::Cut || self.client == Reading::GivenUp
    }

    /// The frame that says the end, when everything else is sent.
    fn last_step(&self) -> Option<NextFrame> {
        let kind = match (self.ran.is_some(), self.told) {
            (true, Told::End) => FrameKind::Finished,
            (true, Told::Nothing) if self.has_failed() => FrameKind::Failed,
            (true, Told::Nothing) => FrameKind::End,
            (false, Told::Nothing) if self.response == PendingResponse::Whole && !self.is_cancelled() => {
                FrameKind::End
            }
            _ => return None,
        };
        let end = if kind == FrameKind::Finished { Flags::NONE } else { Flags::END };
        let done = if self.ran.is_some() { Flags::DONE } else { Flags::NONE };
        let flags = end | done;
        Some(NextFrame { frame: self.frame(kind, flags).with_aux(self.micros(flags)), n_bytes: 0 })
    }

    fn closing_flags(&self) -> Flags {
        if !self.trailers.is_empty() {
            return Flags::NONE;
        }
        match (self.response, self.ran) {
            (PendingResponse::Silent | PendingResponse::Begun | PendingResponse::Cut, _) => Flags::NONE,
            (PendingResponse::Whole, None) => Flags::END,
            (PendingResponse::Whole, Some(_)) => Flags::END | Flags::DONE,
        }
    }

    /// How long the request ran, in microseconds, if the frame says that it has ended.
    fn micros(&self, flags: Flags) -> u32 {
        let ran = self.ran.filter(|_| flags.contains(Flags::DONE)).unwrap_or_default();
        u32::try_from(ran.as_micros()).unwrap_or(u32::MAX)
    }

    fn frame(&self, kind: FrameKind, flags: Flags) -> FrameHead {
        FrameHead::new(kind, self.request.lane, self.request.request).with_flags(flags)
    }

    /// The bytes of a step.
    pub(in super::super) fn pending(&self, step: &NextFrame) -> &[u8] {
        match self.informational.front() {
            Some(head) if step.frame.kind == FrameKind::Informational => head,
            _ if step.frame.kind == FrameKind::Trailers => &self.trailers,
            _ => &self.out[self.n_sent..][..step.n_bytes],
        }
    }

    /// A step has been taken.
    pub(in super::super) fn sent(&mut self, frame: &FrameHead, n_bytes: usize) {
        if frame.kind == FrameKind::BodyCredit {
            self.arriving.told();
            return;
        }
        if frame.kind == FrameKind::Informational {
            self.credit -= n_bytes as u64;
            self.informational.pop_front();
            return;
        }
        if frame.kind == FrameKind::Trailers {
            self.credit -= n_bytes as u64;
            self.trailers.clear();
            return;
        }
        self.credit -= n_bytes.saturating_sub(self.n_head) as u64;
        self.n_head = 0;
        self.n_sent += n_bytes;
        if self.n_sent == self.out.len() {
            self.drop_pending();
        }
        if frame.flags.contains(Flags::DONE) {
            self.told = Told::Done;
        } else if frame.flags.contains(Flags::END) {
            self.told = Told::End;
        }
    }
}
