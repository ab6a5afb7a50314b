//! Rules for what a worker may say to an event loop, in which order, and how much of it is heard at a time.

use corral_channel::{Flags, FrameKind, MAX_TRACE};

use super::pool::worker::WorkerKey;
use super::state::CallState;

/// Bytes that one worker may say at a time: other connections have their turn then. About a tenth of a millisecond's
/// work.
const ALLOWANCE: usize = 512 * 1024;

/// Cost of a frame besides its payload, in bytes.
const FRAME: usize = 256;

/// Frames for requests that are not known here that are heard between two that end known ones. A worker may have sent
/// some before it heard of the cancel.
const MOST_UNKNOWN: u32 = 64;

/// The rest of what an event loop takes from one worker before it looks at others.
pub(super) struct FrameAllowance(usize);

impl Default for FrameAllowance {
    fn default() -> Self {
        Self(ALLOWANCE)
    }
}

impl FrameAllowance {
    /// Takes a frame with so many bytes of payload; false when nothing is left for another.
    pub(super) fn take(&mut self, len: u32) -> bool {
        self.0 = self.0.saturating_sub(FRAME + len as usize);
        self.0 > 0
    }
}

/// How often a worker may still speak of requests that are not known.
#[derive(Debug, Default)]
pub(super) struct UnknownRequests(u32);

impl UnknownRequests {
    /// Hears a frame. The error is a broken rule.
    pub(super) fn hear(&mut self, is_known: bool, flags: Flags) -> Result<(), String> {
        if !is_known {
            self.0 += 1;
        } else if flags.contains(Flags::DONE) {
            self.0 = 0;
        }
        if self.0 > MOST_UNKNOWN {
            return Err("the worker speaks of requests again and again that it does not hold".into());
        }
        Ok(())
    }
}

/// Whether a frame of this kind may have this payload.
pub(super) fn check_payload(kind: FrameKind, payload: &[u8]) -> Result<(), String> {
    let longest = match kind {
        FrameKind::Response | FrameKind::Data | FrameKind::Informational | FrameKind::Trailers => usize::MAX,
        FrameKind::Trace => MAX_TRACE,
        _ => 0,
    };
    if payload.len() <= longest {
        return Ok(());
    }
    Err(format!("a frame of the kind {kind:?} has a payload of {} bytes, {longest} at most", payload.len()))
}

impl CallState {
    /// Whether a frame from this worker may come now; `has_content` says that it has something of the body.
    pub(super) fn check_order(
        &self,
        worker: WorkerKey,
        kind: FrameKind,
        has_content: bool,
    ) -> Result<(), String> {
        if self.worker.is_some_and(|known| known != worker) {
            return Err("the worker answers a request that another one holds".into());
        }
        let is_body = matches!(kind, FrameKind::Response | FrameKind::Data);
        if is_body && has_content {
            self.require_no_file()?;
            if self.ended {
                return Err("the worker goes on behind the end of a response".into());
            }
        }
        match kind {
            FrameKind::Response if self.has_begun => Err("the worker begins a response twice".into()),
            FrameKind::Data if !self.has_begun => Err("the worker sends a body without a head".into()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::body::rest::RequestBody;

    #[test]
    fn a_ration_is_used_up_by_frames_and_by_bytes() {
        let count = |len| {
            let mut allowance = FrameAllowance::default();
            1 + (0..).take_while(|_| allowance.take(len)).count()
        };
        assert_eq!((count(0), count(1024 - 256), count(u32::MAX)), (2048, 512, 1));
    }

    #[test]
    fn a_worker_may_be_late_but_not_for_ever() {
        let mut unknown = UnknownRequests::default();
        for _ in 0..3 {
            (0..MOST_UNKNOWN).for_each(|_| unknown.hear(false, Flags::END).unwrap());
            unknown.hear(true, Flags::END).unwrap();
            unknown.hear(true, Flags::END | Flags::DONE).unwrap();
        }
        (0..MOST_UNKNOWN).for_each(|_| unknown.hear(false, Flags::DONE).unwrap());
        unknown.hear(false, Flags::NONE).unwrap_err();
    }

    fn key(index: usize) -> WorkerKey {
        WorkerKey { index, id: corral_ipc::message::WorkerId(index as u32) }
    }

    #[test]
    fn only_what_says_something_has_a_payload() {
        for kind in [FrameKind::Response, FrameKind::Data, FrameKind::Informational, FrameKind::Trailers] {
            check_payload(kind, b"x").unwrap();
        }
        let others = [
            FrameKind::End,
            FrameKind::Failed,
            FrameKind::BodyCredit,
            FrameKind::Finished,
            FrameKind::Started,
            FrameKind::State,
            FrameKind::Hijacked,
        ];
        for kind in others {
            check_payload(kind, b"").unwrap();
            check_payload(kind, b"x").unwrap_err();
        }
    }

    #[test]
    fn a_trace_has_a_bound() {
        for len in [0, 1, MAX_TRACE] {
            check_payload(FrameKind::Trace, &vec![b'x'; len]).unwrap();
        }
        check_payload(FrameKind::Trace, &[b'x'; MAX_TRACE + 1]).unwrap_err();
    }

    #[test]
    fn a_response_has_one_head_one_end_and_one_worker() {
        let mut state = CallState::new(RequestBody::Complete);
        state.check_order(key(0), FrameKind::Data, true).unwrap_err();
        state.check_order(key(0), FrameKind::BodyCredit, false).unwrap();
        state.check_order(key(0), FrameKind::Response, true).unwrap();
        (state.worker, state.has_begun) = (Some(key(0)), true);
        state.check_order(key(0), FrameKind::Response, true).unwrap_err();
        state.check_order(key(0), FrameKind::Data, true).unwrap();
        for kind in [FrameKind::Data, FrameKind::End, FrameKind::BodyCredit, FrameKind::Informational] {
            state.check_order(key(1), kind, false).unwrap_err();
        }
        state.ended = true;
        state.check_order(key(0), FrameKind::Data, true).unwrap_err();
        for kind in
            [FrameKind::Data, FrameKind::End, FrameKind::Finished, FrameKind::Failed, FrameKind::BodyCredit]
        {
            state.check_order(key(0), kind, false).unwrap();
        }
    }
}
