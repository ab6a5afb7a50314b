//! The state of a running request, as far as it does not depend on how the worker waits: the application's words and
//! the router's frames come in, the next frame to send comes out.
//!
//! Pure: neither a channel nor a buffer is here. The caller keeps the bytes, says how many are pending, and sends them
//! with the frame: a blocking runtime waits around it, an asynchronous one keeps what cannot be sent yet.
//!
//! [`ResponseState`] is with the thread that runs the application. [`ClientState`] changes by frames of the router,
//! which another thread of the worker may take out of the channel. So the two are apart, and a decision gets both.

mod body_window;
mod client_state;
mod next_frame;

use std::time::Duration;

use corral_channel::message::{self, Malformed};
use corral_channel::{Flags, FrameHead, FrameKind};

pub(crate) use self::body_window::BodyWindow;
pub(crate) use self::client_state::ClientState;
pub(crate) use self::next_frame::{NextFrame, PendingBytes};
use crate::log::complain;
use crate::quiet_client::QuietClient;

/// How far a response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponsePhase {
    /// No head yet.
    Silent,
    /// The head is there, and perhaps some of the body.
    Begun,
    /// The response has ended.
    Ended,
}

/// The worker's next step after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// Waits for another.
    Another,
    /// Leaves, so that what is queued for it must be taken back.
    Nothing,
}

impl After {
    fn flags(self) -> Flags {
        match self {
            Self::Another => Flags::DONE,
            Self::Nothing => Flags::DONE | Flags::LAST,
        }
    }
}

/// How far the application is with its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Silent,
    Begun,
    /// All of it was said.
    Whole,
    /// The response ends before that, and the client is to see it.
    Cut,
}

/// The word about the end that the router has been given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// The response has ended.
    End,
    /// The request has ended, too.
    Done,
}

/// The response to a request, and the end of both.
#[derive(Debug)]
pub(crate) struct ResponseState {
    /// The Request frame.
    request: FrameHead,
    progress: Progress,
    told: Told,
    /// Bytes of the head in front of the pending ones.
    n_head: usize,
    /// The response has no body, whatever is written.
    bodiless: bool,
    silence: QuietClient,
    /// The application had nothing to say to a client that had left: the request has failed.
    has_given_up: bool,
    /// How long the request ran, in microseconds, and what comes after it, once it has ended.
    ended: Option<(u32, After)>,
}

impl ResponseState {
    pub(crate) fn new(request: FrameHead, method: &[u8]) -> Self {
        Self {
            request,
            progress: Progress::Silent,
            told: Told::Nothing,
            n_head: 0,
            bodiless: method == b"HEAD",
            silence: QuietClient::default(),
            has_given_up: false,
            ended: None,
        }
    }

    /// The Request frame.
    pub(crate) fn request(&self) -> &FrameHead {
        &self.request
    }

    pub(crate) fn phase(&self) -> ResponsePhase {
        match self.progress {
            Progress::Silent => ResponsePhase::Silent,
            Progress::Begun => ResponsePhase::Begun,
            Progress::Whole | Progress::Cut => ResponsePhase::Ended,
        }
    }

    /// Bytes of the head in front of the pending ones: zero once they are sent.
    pub(crate) fn n_head(&self) -> usize {
        self.n_head
    }

    /// Whether nothing of the body is sent, whatever is written.
    pub(crate) fn is_bodiless(&self) -> bool {
        self.bodiless
    }

    /// Whether the application is done with the request.
    pub(crate) fn has_request_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Whether the response ends before it is whole.
    pub(crate) fn is_cut(&self) -> bool {
        self.progress == Progress::Cut
    }

    /// The router has heard everything.
    pub(crate) fn is_done(&self) -> bool {
        self.told == Told::Done
    }

    /// Encodes an informational response into `out`, which is empty, and stays so if the response is not sent: because
    /// the final one has begun, or because it does not fit into `longest` bytes.
    pub(crate) fn inform(
        &self,
        out: &mut Vec<u8>,
        status: u16,
        fields: &[(&[u8], &[u8])],
        longest: usize,
    ) -> Result<(), Malformed> {
        if self.progress != Progress::Silent {
            return Ok(());
        }
        message::encode_informational(out, status, fields.iter().copied())?;
        if out.len() > longest {
            complain(format_args!("an informational response has {} bytes, which is too long", out.len()));
            out.clear();
        }
        Ok(())
    }

    /// Begins the response, of which there is nothing yet, with its head, which is encoded into `out`. In place of one
    /// that does not fit into `longest` bytes there is one with 500; then this is false.
    pub(crate) fn respond(
        &mut self,
        out: &mut Vec<u8>,
        status: u16,
        fields: &[(&[u8], &[u8])],
        longest: usize,
    ) -> bool {
        message::encode_response(out, status, fields.iter().copied());
        if out.len() > longest {
            complain(format_args!("the head of the response has {} bytes, which is too long", out.len()));
            out.clear();
            self.respond(out, 500, &[], longest);
            return false;
        }
        self.begin(out, status);
        true
    }

    /// Begins a response that the application has no part in.
    pub(crate) fn refuse(&mut self, out: &mut Vec<u8>, status: u16) {
        message::encode_refusal(out, status);
        self.begin(out, status);
    }

    fn begin(&mut self, head: &[u8], status: u16) {
        self.n_head = head.len();
        self.progress = Progress::Begun;
        self.bodiless |= matches!(status, 204 | 304);
    }

    /// The application has something for the client.
    pub(crate) fn speak(&mut self) {
        self.silence.ends();
    }

    /// The application has nothing for the client. Whether that has gone on for too long, as the client may be gone.
    pub(crate) fn is_silent_for_long(&mut self, client: &ClientState) -> bool {
        client.has_left() && self.silence.goes_on()
    }

    #[cfg(test)]
    pub(crate) fn begin_silence_earlier(&mut self) {
        self.silence.begin_earlier();
    }

    /// The client had left, and got nothing for too long.
    pub(crate) fn give_up(&mut self) {
        self.has_given_up = true;
    }

    /// All of the response was said, if it has begun.
    pub(crate) fn end_response(&mut self) {
        if self.progress == Progress::Begun {
            self.progress = Progress::Whole;
        }
    }

    /// Forgets that all of the response was said, as that could not be sent.
    pub(crate) fn reopen(&mut self) {
        if self.progress == Progress::Whole && self.told == Told::Nothing {
            self.progress = Progress::Begun;
        }
    }

    /// The response ends here, and the client is to see that it is not whole. Without effect when it is.
    pub(crate) fn abort(&mut self) {
        if self.progress != Progress::Whole {
            self.progress = Progress::Cut;
        }
    }

    /// The request has ended and ran for this long; its response has begun before, or was aborted.
    pub(crate) fn end_request(&mut self, ran: Duration, after: After) {
        self.end_response();
        self.ended = Some((u32::try_from(ran.as_micros()).unwrap_or(u32::MAX), after));
    }

    /// Forgets the beginning of the response, if none of it was sent; then another one can be begun. The caller drops
    /// the pending bytes.
    pub(crate) fn take_head_back(&mut self) -> bool {
        let is_kept = self.n_head > 0 && self.progress == Progress::Begun;
        let is_unseen = self.progress == Progress::Silent || is_kept;
        if is_unseen {
            self.n_head = 0;
            self.progress = Progress::Silent;
        }
        is_unseen
    }

    /// The caller has dropped the pending bytes, with the head if it was among them.
    pub(crate) fn drop_pending(&mut self) {
        self.n_head = 0;
    }

    /// A frame of this request.
    pub(crate) fn frame(&self, kind: FrameKind) -> FrameHead {
        FrameHead::new(kind, self.request.lane, self.request.request)
    }
}

#[cfg(test)]
mod tests;
