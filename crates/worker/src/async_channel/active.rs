//! One of many requests: what has come for it, and what of its answer is still to be sent. Pure: frames go in and out.

mod steps;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use corral_channel::message::{self, Malformed, RequestView};
use corral_channel::{Flags, FrameHead, FrameKind, INITIAL_CREDIT, Opcode};

use super::arriving::{Arriving, Message, TooLong};
use super::frame;
use crate::body::Body;
use crate::log::complain;
use crate::quiet_client::QuietClient;

/// The code for messages that are too long (RFC 6455 section 7.4.1).
const TOO_BIG: u16 = 1009;

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

/// The state of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingResponse {
    Silent,
    Begun,
    /// All of it was said.
    Whole,
    /// The response ends before that, and the client is to see it.
    Cut,
}

/// The protocol that the request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamProtocol {
    Http,
    /// A WebSocket connection, which the application has not accepted.
    Upgrade,
    /// The connection has become a WebSocket connection.
    WebSocket,
}

/// Whether the client still reads the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    There,
    /// The client sends nothing more, and may be gone.
    Left,
    Gone,
    /// The client had left, and the application had nothing to say to it: the request has failed.
    GivenUp,
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

/// The next frame to be sent, with so many bytes of what is pending.
pub(super) struct NextFrame {
    pub(super) frame: FrameHead,
    pub(super) n_bytes: usize,
}

/// A request while it runs.
pub(super) struct ActiveRequest {
    request: FrameHead,
    begun: Instant,
    arriving: Arriving,
    protocol: StreamProtocol,
    /// Informational responses that are not sent.
    informational: VecDeque<Vec<u8>>,
    /// The response as far as it is not sent, from `n_sent` on.
    out: Vec<u8>,
    n_sent: usize,
    /// Bytes of the head in front of it.
    n_head: usize,
    /// The trailers behind the body, encoded, until they are sent.
    trailers: Vec<u8>,
    bodiless: bool,
    response: PendingResponse,
    told: Told,
    /// Bytes of body that may be sent.
    credit: u64,
    client: Reading,
    silence: QuietClient,
    /// How long it ran, once it has ended.
    ran: Option<Duration>,
}

impl ActiveRequest {
    pub(super) fn new(request: FrameHead, view: &RequestView<'_>, inline: Body) -> Self {
        Self {
            request,
            begun: Instant::now(),
            arriving: Arriving::new(view, inline),
            protocol: if view.head.websocket { StreamProtocol::Upgrade } else { StreamProtocol::Http },
            informational: VecDeque::new(),
            out: Vec::new(),
            n_sent: 0,
            n_head: 0,
            trailers: Vec::new(),
            bodiless: view.head.method == b"HEAD",
            response: PendingResponse::Silent,
            told: Told::Nothing,
            credit: INITIAL_CREDIT.into(),
            client: Reading::There,
            silence: QuietClient::default(),
            ran: None,
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        matches!(self.client, Reading::Gone | Reading::GivenUp)
    }

    /// The router has heard everything.
    pub(super) fn is_done(&self) -> bool {
        self.told == Told::Done
    }

    pub(super) fn phase(&self) -> ResponsePhase {
        match self.response {
            PendingResponse::Silent => ResponsePhase::Silent,
            PendingResponse::Begun => ResponsePhase::Begun,
            PendingResponse::Whole | PendingResponse::Cut => ResponsePhase::Ended,
        }
    }

    pub(super) fn n_pending(&self) -> usize {
        let n_informational: usize = self.informational.iter().map(Vec::len).sum();
        n_informational + self.out.len() - self.n_sent
    }

    /// Whether the whole response is there, can be sent in one frame, and was not.
    pub(super) fn is_one_frame(&self, max_payload: usize) -> bool {
        self.phase() == ResponsePhase::Ended && self.n_head > 0 && self.n_pending() <= max_payload
    }

    /// Takes a frame that came for it.
    pub(super) fn take(&mut self, head: FrameHead, payload: &[u8]) {
        let ends = head.flags.contains(Flags::END);
        match head.kind {
            FrameKind::Body => self.arriving.add_body(payload, ends),
            FrameKind::Message => {
                let Some(opcode) = Opcode::from_number(head.aux) else { return };
                if let Err(TooLong) = self.arriving.add_part(opcode, payload, ends) {
                    self.cut_off();
                }
            }
            FrameKind::Credit => self.credit += u64::from(head.aux),
            FrameKind::Cancel => self.cancel(),
            FrameKind::Left if self.client == Reading::There => self.client = Reading::Left,
            _ => {}
        }
    }

    /// Ends a WebSocket connection whose client has sent too long a message.
    fn cut_off(&mut self) {
        self.close(TOO_BIG, b"message too big");
        self.write(b"", true);
        self.arriving.add_message(Message { opcode: Opcode::Close, bytes: TOO_BIG.to_be_bytes().to_vec() });
    }

    pub(super) fn cancel(&mut self) {
        if self.client != Reading::GivenUp {
            self.client = Reading::Gone;
        }
        self.informational.clear();
        self.trailers.clear();
        self.drop_pending();
    }

    pub(super) fn take_body(&mut self) -> Option<(Body, bool)> {
        self.arriving.take_body()
    }

    pub(super) fn take_message(&mut self) -> Option<Message> {
        self.arriving.take_message()
    }

    pub(super) fn inform(
        &mut self,
        status: u16,
        fields: &[(&[u8], &[u8])],
        longest: usize,
    ) -> Result<(), Malformed> {
        if self.response != PendingResponse::Silent || self.is_cancelled() {
            return Ok(());
        }
        let mut head = Vec::new();
        message::encode_informational(&mut head, status, fields.iter().copied())?;
        if head.len() > longest {
            complain(format_args!("an informational response has {} bytes, which is too long", head.len()));
        } else {
            self.informational.push_back(head);
        }
        Ok(())
    }

    pub(super) fn respond(&mut self, status: u16, fields: &[(&[u8], &[u8])], longest: usize) {
        if self.response != PendingResponse::Silent {
            return;
        }
        message::encode_response(&mut self.out, status, fields.iter().copied());
        if self.out.len() > longest {
            let len = self.out.len();
            complain(format_args!("the head of the response has {len} bytes, which is too long"));
            self.out.clear();
            return self.respond(500, &[], longest);
        }
        self.n_head = self.out.len();
        self.response = PendingResponse::Begun;
        self.bodiless |= matches!(status, 204 | 304);
        if self.protocol == StreamProtocol::Upgrade && status == 101 {
            self.protocol = StreamProtocol::WebSocket;
            self.arriving.want();
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], ends: bool) {
        if self.response != PendingResponse::Begun {
            return;
        }
        if bytes.is_empty() && !ends {
            return self.say_nothing();
        }
        self.silence.ends();
        if !self.bodiless {
            self.out.extend_from_slice(bytes);
        }
        if ends {
            self.response = PendingResponse::Whole;
        }
    }

    /// An empty piece.
    fn say_nothing(&mut self) {
        if self.client == Reading::Left && self.silence.goes_on() {
            self.client = Reading::GivenUp;
            self.cancel();
        }
    }

    pub(super) fn write_trailers(&mut self, fields: &[(&[u8], &[u8])], longest: usize) {
        if self.response != PendingResponse::Begun {
            return;
        }
        self.response = PendingResponse::Whole;
        if self.bodiless || self.is_cancelled() {
            return;
        }
        message::encode_trailers(&mut self.trailers, fields.iter().copied());
        if self.trailers.len() > longest {
            complain(format_args!(
                "the trailers of a response have {} bytes, which is too long",
                self.trailers.len()
            ));
            self.trailers.clear();
        }
    }

    /// Adds a whole message.
    pub(super) fn write_message(&mut self, opcode: Opcode, bytes: &[u8]) {
        self.write(frame::head(opcode, bytes.len()).as_ref(), false);
        self.write(bytes, false);
    }

    /// Adds the last message of a WebSocket connection.
    pub(super) fn close(&mut self, code: u16, reason: &[u8]) {
        let mut payload = code.to_be_bytes().to_vec();
        payload.extend_from_slice(&reason[..reason.len().min(frame::LONGEST_REASON)]);
        self.write_message(Opcode::Close, &payload);
    }

    pub(super) fn finish(&mut self) {
        if self.response != PendingResponse::Cut {
            self.response = PendingResponse::Whole;
        }
        self.ran = Some(self.begun.elapsed());
    }

    /// Forgets the beginning of the response, if none of it was sent; then another one can be begun.
    pub(super) fn take_head_back(&mut self) -> bool {
        let is_kept = self.n_head > 0 && self.response == PendingResponse::Begun;
        let is_unseen = self.response == PendingResponse::Silent || is_kept;
        if is_unseen {
            self.drop_pending();
            self.response = PendingResponse::Silent;
        }
        is_unseen
    }

    pub(super) fn abort(&mut self) {
        if self.response != PendingResponse::Whole {
            self.response = PendingResponse::Cut;
        }
        self.finish();
    }

    fn drop_pending(&mut self) {
        self.out.clear();
        (self.n_sent, self.n_head) = (0, 0);
    }
}
