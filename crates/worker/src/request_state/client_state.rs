//! The client of a request, as the router describes it: how much it takes, and whether it still reads.

use corral_channel::{FrameHead, FrameKind, INITIAL_CREDIT};

/// Whether the client still reads the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    There,
    /// The client sends nothing more, and may be gone.
    Left,
    Gone,
}

/// The client's side of a response.
#[derive(Debug)]
pub(crate) struct ClientState {
    /// Bytes of response body that may still be sent.
    credit: u64,
    reading: Reading,
}

impl ClientState {
    pub(crate) fn new() -> Self {
        Self { credit: INITIAL_CREDIT.into(), reading: Reading::There }
    }

    /// Takes a frame of the router. Other kinds are about the body of the request.
    pub(crate) fn take_frame(&mut self, frame: &FrameHead) {
        match frame.kind {
            FrameKind::Credit => self.credit += u64::from(frame.aux),
            FrameKind::Cancel => self.cancel(),
            FrameKind::Left if self.reading == Reading::There => self.reading = Reading::Left,
            _ => {}
        }
    }

    /// The response is not read any more.
    pub(crate) fn cancel(&mut self) {
        self.reading = Reading::Gone;
    }

    /// Bytes of response body that may still be sent.
    pub(crate) fn credit(&self) -> u64 {
        self.credit
    }

    /// So many bytes were sent.
    pub(super) fn spend(&mut self, n_bytes: usize) {
        self.credit -= n_bytes as u64;
    }

    /// The response is not read any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.reading == Reading::Gone
    }

    /// The client sends nothing more. It may wait for the response, or be gone.
    pub(super) fn has_left(&self) -> bool {
        self.reading == Reading::Left
    }
}
