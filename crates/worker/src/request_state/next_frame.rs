//! The next frame of a response: made of the pending bytes as far as there is credit, with the word about the end of
//! the response and of its request as soon as everything before is sent.

use corral_channel::message::FilePart;
use corral_channel::{Flags, FrameHead, FrameKind};

use super::{ClientState, Progress, ResponseState, Told};

/// Bytes that the caller has to send, in the order in which they go.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PendingBytes {
    /// The first informational response; zero if there is none.
    pub(crate) n_informational: usize,
    /// The rest of the head, if that is not sent, and the body.
    pub(crate) n_response: usize,
    /// The trailers; zero if there are none.
    pub(crate) n_trailers: usize,
}

/// The next frame to be sent, with so many bytes of those that are pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NextFrame {
    pub(crate) frame: FrameHead,
    pub(crate) n_bytes: usize,
}

impl ResponseState {
    /// The frame to send next, if there is one and credit for it. A head goes without credit for what is behind it.
    pub(crate) fn next_frame(
        &self,
        pending: &PendingBytes,
        client: &ClientState,
        max_payload: usize,
    ) -> Option<NextFrame> {
        if pending.n_informational > 0 {
            return self.unit(FrameKind::Informational, pending.n_informational, client);
        }
        if pending.n_response > 0 {
            return self.piece(pending, client, max_payload);
        }
        if pending.n_trailers > 0 {
            return self.unit(FrameKind::Trailers, pending.n_trailers, client);
        }
        self.last_frame(client)
    }

    /// A frame that is sent as a whole, when there is credit for all of it.
    fn unit(&self, kind: FrameKind, n_bytes: usize, client: &ClientState) -> Option<NextFrame> {
        (n_bytes as u64 <= client.credit()).then(|| NextFrame { frame: self.frame(kind), n_bytes })
    }

    /// A piece of the response: of its body as much as may be sent.
    fn piece(&self, pending: &PendingBytes, client: &ClientState, max_payload: usize) -> Option<NextFrame> {
        let n_body = pending.n_response - self.n_head;
        let n_allowed = usize::try_from(client.credit()).unwrap_or(usize::MAX);
        let n_now = n_body.min(n_allowed).min(max_payload - self.n_head);
        if n_now == 0 && self.n_head == 0 {
            return None;
        }
        let is_end = n_now == n_body && pending.n_trailers == 0 && self.progress == Progress::Whole;
        let flags = if is_end { Flags::END | self.done_flags() } else { Flags::NONE };
        Some(NextFrame { frame: self.closing(self.piece_kind(), flags), n_bytes: self.n_head + n_now })
    }

    fn piece_kind(&self) -> FrameKind {
        if self.n_head > 0 { FrameKind::Response } else { FrameKind::Data }
    }

    /// The frame to send with a file behind `n_bytes` of the response, if there is room and credit for all of them and
    /// the response is still read.
    pub(crate) fn file_frame(
        &self,
        n_bytes: usize,
        ends: bool,
        client: &ClientState,
        max_payload: usize,
    ) -> Option<NextFrame> {
        let has_room = n_bytes + FilePart::SIZE <= max_payload;
        let has_credit = (n_bytes - self.n_head) as u64 <= client.credit();
        let may_go = has_room && has_credit && !client.is_gone();
        let flags = if ends { Flags::END } else { Flags::NONE };
        may_go.then(|| NextFrame { frame: self.frame(self.piece_kind()).with_flags(flags), n_bytes })
    }

    /// The frame that says the end, when everything else is sent or dropped.
    pub(crate) fn last_frame(&self, client: &ClientState) -> Option<NextFrame> {
        let kind = match (self.ended.is_some(), self.told) {
            (true, Told::End) => FrameKind::Finished,
            (true, Told::Nothing) if self.has_failed() => FrameKind::Failed,
            (true, Told::Nothing) => FrameKind::End,
            (false, Told::Nothing) if self.progress == Progress::Whole && !client.is_gone() => FrameKind::End,
            _ => return None,
        };
        let end = if kind == FrameKind::Finished { Flags::NONE } else { Flags::END };
        Some(NextFrame { frame: self.closing(kind, end | self.done_flags()), n_bytes: 0 })
    }

    /// Whether the client is to see that the response is not whole.
    fn has_failed(&self) -> bool {
        self.progress == Progress::Cut || self.has_given_up
    }

    fn done_flags(&self) -> Flags {
        self.ended.map_or(Flags::NONE, |(_, after)| after.flags())
    }

    /// A frame that may say the end of the request; then it says how long that ran, in microseconds.
    fn closing(&self, kind: FrameKind, flags: Flags) -> FrameHead {
        let micros = self.ended.filter(|_| flags.contains(Flags::DONE)).map_or(0, |(micros, _)| micros);
        self.frame(kind).with_flags(flags).with_aux(micros)
    }

    /// The frame was sent.
    pub(crate) fn sent(&mut self, next: &NextFrame, client: &mut ClientState) {
        let n_head = match next.frame.kind {
            FrameKind::Informational => 0,
            _ => std::mem::take(&mut self.n_head),
        };
        client.spend(next.n_bytes - n_head);
        if next.frame.flags.contains(Flags::DONE) {
            self.told = Told::Done;
        } else if next.frame.flags.contains(Flags::END) {
            self.told = Told::End;
            self.progress = Progress::Whole;
        }
    }
}
