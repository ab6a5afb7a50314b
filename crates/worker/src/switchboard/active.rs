//! One of many requests: what has come for it, and what of its answer is still to be sent. Pure: frames go in and out.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use corral_channel::message::{self, FilePart, Malformed, RequestView};
use corral_channel::{Flags, FrameHead, INITIAL_CREDIT, Kind, Opcode};

use super::arriving::{Arriving, Message, TooLong};
use super::frame;
use crate::body::Body;
use crate::log::complain;
use crate::silence::Silence;

/// The code for messages that are too long (RFC 6455 section 7.4.1).
const TOO_BIG: u16 = 1009;

/// How far a response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No head yet.
    Silent,
    /// The head is there, and perhaps some of the body.
    Begun,
    /// There will be no more of it.
    Ended,
}

/// The state of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Response {
    Silent,
    Begun,
    /// All of it was said.
    Whole,
    /// It ends before that, and the client is to see it.
    Cut,
}

/// The protocol that the request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http,
    /// A WebSocket connection, which the application has not accepted.
    Upgrade,
    /// The connection has become a WebSocket connection.
    WebSocket,
}

/// Whether somebody reads the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    There,
    /// It sends nothing more, and may be gone.
    Left,
    Gone,
    /// It had left, and the application had nothing to say to it: the request has failed.
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

/// What is to be sent next, with so many bytes of what is pending.
pub(super) struct Step {
    pub(super) frame: FrameHead,
    pub(super) n_bytes: usize,
}

/// A request while it runs.
pub(super) struct ActiveRequest {
    request: FrameHead,
    begun: Instant,
    arriving: Arriving,
    protocol: Protocol,
    /// Informational responses that are not sent.
    informational: VecDeque<Vec<u8>>,
    /// The response as far as it is not sent, from `n_sent` on.
    out: Vec<u8>,
    n_sent: usize,
    /// Bytes of the head in front of it.
    n_head: usize,
    /// What is behind the body, encoded, until it is sent.
    trailers: Vec<u8>,
    bodiless: bool,
    response: Response,
    told: Told,
    /// Bytes of body that may be sent.
    credit: u64,
    client: Client,
    silence: Silence,
    /// How long it ran, once it has ended.
    ran: Option<Duration>,
}

impl ActiveRequest {
    pub(super) fn new(request: FrameHead, view: &RequestView<'_>, inline: Body) -> Self {
        Self {
            request,
            begun: Instant::now(),
            arriving: Arriving::new(view, inline),
            protocol: if view.head.websocket { Protocol::Upgrade } else { Protocol::Http },
            informational: VecDeque::new(),
            out: Vec::new(),
            n_sent: 0,
            n_head: 0,
            trailers: Vec::new(),
            bodiless: view.head.method == b"HEAD",
            response: Response::Silent,
            told: Told::Nothing,
            credit: INITIAL_CREDIT.into(),
            client: Client::There,
            silence: Silence::default(),
            ran: None,
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        matches!(self.client, Client::Gone | Client::GivenUp)
    }

    /// The router has heard everything.
    pub(super) fn is_done(&self) -> bool {
        self.told == Told::Done
    }

    pub(super) fn phase(&self) -> Phase {
        match self.response {
            Response::Silent => Phase::Silent,
            Response::Begun => Phase::Begun,
            Response::Whole | Response::Cut => Phase::Ended,
        }
    }

    pub(super) fn n_pending(&self) -> usize {
        let n_informational: usize = self.informational.iter().map(Vec::len).sum();
        n_informational + self.out.len() - self.n_sent
    }

    /// Whether the whole response is there, can be sent in one frame, and was not.
    pub(super) fn is_one_frame(&self, max_payload: usize) -> bool {
        self.phase() == Phase::Ended && self.n_head > 0 && self.n_pending() <= max_payload
    }

    /// Takes a frame that came for it.
    pub(super) fn take(&mut self, head: FrameHead, payload: &[u8]) {
        let ends = head.flags.contains(Flags::END);
        match head.kind {
            Kind::Body => self.arriving.add_body(payload, ends),
            Kind::Message => {
                let Some(opcode) = Opcode::from_number(head.aux) else { return };
                if let Err(TooLong) = self.arriving.add_part(opcode, payload, ends) {
                    self.cut_off();
                }
            }
            Kind::Credit => self.credit += u64::from(head.aux),
            Kind::Cancel => self.cancel(),
            Kind::Left if self.client == Client::There => self.client = Client::Left,
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
        if self.client != Client::GivenUp {
            self.client = Client::Gone;
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
        if self.response != Response::Silent || self.is_cancelled() {
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
        if self.response != Response::Silent {
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
        self.response = Response::Begun;
        self.bodiless |= matches!(status, 204 | 304);
        if self.protocol == Protocol::Upgrade && status == 101 {
            self.protocol = Protocol::WebSocket;
            self.arriving.want();
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], ends: bool) {
        if self.response != Response::Begun {
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
            self.response = Response::Whole;
        }
    }

    /// An empty piece.
    fn say_nothing(&mut self) {
        if self.client == Client::Left && self.silence.goes_on() {
            self.client = Client::GivenUp;
            self.cancel();
        }
    }

    pub(super) fn write_trailers(&mut self, fields: &[(&[u8], &[u8])], longest: usize) {
        if self.response != Response::Begun {
            return;
        }
        self.response = Response::Whole;
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
        if self.response != Response::Cut {
            self.response = Response::Whole;
        }
        self.ran = Some(self.begun.elapsed());
    }

    /// Forgets what was begun of the response, if nobody has seen it; then another one can be.
    pub(super) fn take_head_back(&mut self) -> bool {
        let is_kept = self.n_head > 0 && self.response == Response::Begun;
        let is_unseen = self.response == Response::Silent || is_kept;
        if is_unseen {
            self.drop_pending();
            self.response = Response::Silent;
        }
        is_unseen
    }

    pub(super) fn abort(&mut self) {
        if self.response != Response::Whole {
            self.response = Response::Cut;
        }
        self.finish();
    }

    /// What to send next, if it may be sent. Its bytes are those of [`ActiveRequest::pending`].
    pub(super) fn next_step(&self, max_payload: usize) -> Option<Step> {
        if self.is_done() {
            return None;
        }
        if let Some(room) = self.arriving.news().filter(|_| self.ran.is_none()) {
            let frame = self.frame(Kind::BodyCredit, Flags::NONE).with_aux(room);
            return Some(Step { frame, n_bytes: 0 });
        }
        if let Some(head) = self.informational.front() {
            let frame = self.frame(Kind::Informational, Flags::NONE);
            return (head.len() as u64 <= self.credit).then_some(Step { frame, n_bytes: head.len() });
        }
        if self.n_pending() == 0 && !self.trailers.is_empty() {
            let n_bytes = self.trailers.len();
            let frame = self.frame(Kind::Trailers, Flags::NONE);
            return (n_bytes as u64 <= self.credit).then_some(Step { frame, n_bytes });
        }
        if self.n_pending() == 0 {
            return self.last_step();
        }
        // A head that nothing follows yet waits for that, unless the other side waits for it.
        let n_body = self.n_pending() - self.n_head;
        let is_bare = self.n_head > 0 && n_body == 0;
        if is_bare && self.response == Response::Begun && self.protocol != Protocol::WebSocket {
            return None;
        }
        let n_allowed = usize::try_from(self.credit).unwrap_or(usize::MAX);
        let n_now = n_body.min(n_allowed).min(max_payload - self.n_head);
        if n_now == 0 && n_body > 0 && self.n_head == 0 {
            return None;
        }
        let kind = if self.n_head > 0 { Kind::Response } else { Kind::Data };
        let flags = if n_now == n_body { self.closing_flags() } else { Flags::NONE };
        let frame = self.frame(kind, flags).with_aux(self.micros(flags));
        Some(Step { frame, n_bytes: self.n_head + n_now })
    }

    /// Whether nothing of the body is sent that comes next, whatever is written.
    pub(super) fn drops_body(&self) -> bool {
        self.bodiless && self.response == Response::Begun
    }

    /// What to send with a file, if that can come next.
    pub(super) fn step_with_file(&self, max_payload: usize, ends: bool) -> Option<Step> {
        let n_bytes = self.n_pending();
        let is_begun = self.protocol == Protocol::Http && self.response == Response::Begun;
        let is_next = self.informational.is_empty() && is_begun;
        let fits = n_bytes + FilePart::SIZE <= max_payload && (n_bytes - self.n_head) as u64 <= self.credit;
        let kind = if self.n_head > 0 { Kind::Response } else { Kind::Data };
        let flags = if ends { Flags::END } else { Flags::NONE };
        (is_next && fits).then(|| Step { frame: self.frame(kind, flags), n_bytes })
    }

    /// That has been done.
    pub(super) fn sent_with_file(&mut self, step: &Step) {
        self.sent(&step.frame, step.n_bytes);
        if step.frame.flags.contains(Flags::END) {
            self.response = Response::Whole;
        }
    }

    /// Whether the client is to see that the response is not whole.
    fn has_failed(&self) -> bool {
        self.response == Response::Cut || self.client == Client::GivenUp
    }

    /// What says the end, when everything else is sent.
    fn last_step(&self) -> Option<Step> {
        let kind = match (self.ran.is_some(), self.told) {
            (true, Told::End) => Kind::Finished,
            (true, Told::Nothing) if self.has_failed() => Kind::Failed,
            (true, Told::Nothing) => Kind::End,
            (false, Told::Nothing) if self.response == Response::Whole && !self.is_cancelled() => Kind::End,
            _ => return None,
        };
        let end = if kind == Kind::Finished { Flags::NONE } else { Flags::END };
        let done = if self.ran.is_some() { Flags::DONE } else { Flags::NONE };
        let flags = end | done;
        Some(Step { frame: self.frame(kind, flags).with_aux(self.micros(flags)), n_bytes: 0 })
    }

    fn closing_flags(&self) -> Flags {
        if !self.trailers.is_empty() {
            return Flags::NONE;
        }
        match (self.response, self.ran) {
            (Response::Silent | Response::Begun | Response::Cut, _) => Flags::NONE,
            (Response::Whole, None) => Flags::END,
            (Response::Whole, Some(_)) => Flags::END | Flags::DONE,
        }
    }

    /// How long the request ran, in microseconds, if the frame says that it has ended.
    fn micros(&self, flags: Flags) -> u32 {
        let ran = self.ran.filter(|_| flags.contains(Flags::DONE)).unwrap_or_default();
        u32::try_from(ran.as_micros()).unwrap_or(u32::MAX)
    }

    fn frame(&self, kind: Kind, flags: Flags) -> FrameHead {
        FrameHead::new(kind, self.request.lane, self.request.request).with_flags(flags)
    }

    /// The bytes of a step.
    pub(super) fn pending(&self, step: &Step) -> &[u8] {
        match self.informational.front() {
            Some(head) if step.frame.kind == Kind::Informational => head,
            _ if step.frame.kind == Kind::Trailers => &self.trailers,
            _ => &self.out[self.n_sent..][..step.n_bytes],
        }
    }

    /// A step has been taken.
    pub(super) fn sent(&mut self, frame: &FrameHead, n_bytes: usize) {
        if frame.kind == Kind::BodyCredit {
            self.arriving.told();
            return;
        }
        if frame.kind == Kind::Informational {
            self.credit -= n_bytes as u64;
            self.informational.pop_front();
            return;
        }
        if frame.kind == Kind::Trailers {
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

    fn drop_pending(&mut self) {
        self.out.clear();
        (self.n_sent, self.n_head) = (0, 0);
    }
}
