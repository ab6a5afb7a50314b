//! One of many requests: what has come for it, and what of its answer is still to be sent. Pure: frames go in and out.

mod steps;

use std::collections::VecDeque;
use std::time::Instant;

use corral_channel::message::{self, Malformed, RequestView};
use corral_channel::{Flags, FrameHead, FrameKind, Opcode};

use super::arriving::{Arriving, Message, TooLong};
use super::frame;
use crate::body::Body;
use crate::log::complain;
use crate::request_state::{After, ClientState, ResponsePhase, ResponseState};

/// The code for messages that are too long (RFC 6455 section 7.4.1).
const TOO_BIG: u16 = 1009;

/// The protocol that the request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamProtocol {
    Http,
    /// A WebSocket connection, which the application has not accepted.
    Upgrade,
    /// The connection has become a WebSocket connection.
    WebSocket,
}

/// A request while it runs.
pub(super) struct ActiveRequest {
    response: ResponseState,
    client: ClientState,
    begun: Instant,
    arriving: Arriving,
    protocol: StreamProtocol,
    /// Informational responses that are not sent.
    informational: VecDeque<Vec<u8>>,
    /// The response as far as it is not sent, from `n_sent` on.
    out: Vec<u8>,
    n_sent: usize,
    /// The trailers behind the body, encoded, until they are sent.
    trailers: Vec<u8>,
}

impl ActiveRequest {
    pub(super) fn new(request: FrameHead, view: &RequestView<'_>, inline: Body) -> Self {
        Self {
            response: ResponseState::new(request, view.head.method),
            client: ClientState::new(),
            begun: Instant::now(),
            arriving: Arriving::new(view, inline),
            protocol: if view.head.websocket { StreamProtocol::Upgrade } else { StreamProtocol::Http },
            informational: VecDeque::new(),
            out: Vec::new(),
            n_sent: 0,
            trailers: Vec::new(),
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.client.is_gone()
    }

    /// The router has heard everything.
    pub(super) fn is_done(&self) -> bool {
        self.response.is_done()
    }

    pub(super) fn phase(&self) -> ResponsePhase {
        self.response.phase()
    }

    pub(super) fn n_pending(&self) -> usize {
        let n_informational: usize = self.informational.iter().map(Vec::len).sum();
        n_informational + self.n_unsent()
    }

    /// Bytes of head and body that are not sent.
    fn n_unsent(&self) -> usize {
        self.out.len() - self.n_sent
    }

    /// Whether the whole response is there, can be sent in one frame, and was not.
    pub(super) fn is_one_frame(&self, max_payload: usize) -> bool {
        self.phase() == ResponsePhase::Ended && self.response.n_head() > 0 && self.n_pending() <= max_payload
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
            FrameKind::Cancel => self.cancel(),
            _ => self.client.take_frame(&head),
        }
    }

    /// Ends a WebSocket connection whose client has sent too long a message.
    fn cut_off(&mut self) {
        self.close(TOO_BIG, b"message too big");
        self.write(b"", true);
        self.arriving.add_message(Message { opcode: Opcode::Close, bytes: TOO_BIG.to_be_bytes().to_vec() });
    }

    pub(super) fn cancel(&mut self) {
        self.client.cancel();
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
        if self.is_cancelled() {
            return Ok(());
        }
        let mut head = Vec::new();
        self.response.inform(&mut head, status, fields, longest)?;
        if !head.is_empty() {
            self.informational.push_back(head);
        }
        Ok(())
    }

    pub(super) fn respond(&mut self, status: u16, fields: &[(&[u8], &[u8])], longest: usize) {
        if self.phase() != ResponsePhase::Silent {
            return;
        }
        let is_fit = self.response.respond(&mut self.out, status, fields, longest);
        if is_fit && self.protocol == StreamProtocol::Upgrade && status == 101 {
            self.protocol = StreamProtocol::WebSocket;
            self.arriving.want();
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], ends: bool) {
        if self.phase() != ResponsePhase::Begun {
            return;
        }
        if bytes.is_empty() && !ends {
            return self.say_nothing();
        }
        self.response.speak();
        if !self.response.is_bodiless() {
            self.out.extend_from_slice(bytes);
        }
        if ends {
            self.response.end_response();
        }
    }

    /// An empty piece.
    fn say_nothing(&mut self) {
        if self.response.is_silent_for_long(&self.client) {
            self.response.give_up();
            self.cancel();
        }
    }

    pub(super) fn write_trailers(&mut self, fields: &[(&[u8], &[u8])], longest: usize) {
        if self.phase() != ResponsePhase::Begun {
            return;
        }
        self.response.end_response();
        if self.response.is_bodiless() || self.is_cancelled() {
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
        self.response.end_request(self.begun.elapsed(), After::Another);
    }

    /// Forgets the beginning of the response, if none of it was sent; then another one can be begun.
    pub(super) fn take_head_back(&mut self) -> bool {
        let is_unseen = self.response.take_head_back();
        if is_unseen {
            self.drop_pending();
        }
        is_unseen
    }

    pub(super) fn abort(&mut self) {
        self.response.abort();
        self.finish();
    }

    fn drop_pending(&mut self) {
        self.out.clear();
        self.n_sent = 0;
        self.response.drop_pending();
    }
}
