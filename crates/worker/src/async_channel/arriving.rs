//! Everything that comes for a request from its client: a body, or the messages of a WebSocket connection. The router
//! sends as much as it was told that there is room for, and hears of more when some was taken.

use std::collections::VecDeque;

use corral_channel::message::RequestView;
use corral_channel::{BODY_WINDOW, Opcode};

use crate::body::Body;
use crate::request_state::BodyWindow;

/// Bytes of one message of a WebSocket connection; a client that sends more is cut off.
const LONGEST_MESSAGE: usize = 10 * 1024 * 1024;

/// Bytes that are taken before the router hears of it: not every message is worth a frame.
const ACKNOWLEDGED: u32 = BODY_WINDOW / 4;

/// A message of a WebSocket connection, put together from its fragments.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    /// The message's opcode; messages after a close are dropped.
    pub opcode: Opcode,
    /// The payload; of a close its code and its reason.
    pub bytes: Vec<u8>,
}

/// A message is longer than any may be.
#[derive(Debug)]
pub(super) struct TooLong;

/// Bytes and messages that have come and were not taken.
pub(super) struct Arriving {
    /// The bytes that came along with the head.
    inline: Option<Body>,
    body: Vec<u8>,
    body_ended: bool,
    /// With the bytes of each that the router was not told of.
    messages: VecDeque<(Message, u32)>,
    /// The beginning of a message that is not complete.
    partial: Vec<u8>,
    window: BodyWindow,
    /// The router may be told.
    is_wanted: bool,
}

impl Arriving {
    pub(super) fn new(view: &RequestView<'_>, inline: Body) -> Self {
        let is_to_come = !view.head.body_complete || view.head.websocket;
        Self {
            inline: (!inline.is_empty()).then_some(inline),
            body: Vec::new(),
            body_ended: view.head.body_complete,
            messages: VecDeque::new(),
            partial: Vec::new(),
            window: BodyWindow::new(is_to_come),
            is_wanted: false,
        }
    }

    /// The application takes what comes.
    pub(super) fn want(&mut self) {
        self.is_wanted = true;
    }

    /// Bytes that the router is to be told of that it may send, if it is time for that.
    pub(super) fn news(&self) -> Option<u32> {
        self.window.untold(ACKNOWLEDGED).filter(|_| self.is_wanted)
    }

    /// The router knows.
    pub(super) fn told(&mut self) {
        self.window.told();
    }

    pub(super) fn add_body(&mut self, bytes: &[u8], ends: bool) {
        self.body.extend_from_slice(bytes);
        self.body_ended |= ends;
    }

    /// Adds a part of a message. Nothing more is wanted when that has become too long.
    pub(super) fn add_part(&mut self, opcode: Opcode, bytes: &[u8], ends: bool) -> Result<(), TooLong> {
        if self.partial.len() + bytes.len() > LONGEST_MESSAGE {
            self.partial = Vec::new();
            self.is_wanted = false;
            return Err(TooLong);
        }
        self.partial.extend_from_slice(bytes);
        if ends {
            let message = Message { opcode, bytes: std::mem::take(&mut self.partial) };
            self.messages.push_back((message, bytes.len() as u32));
        } else {
            // The rest of the message must not wait until its beginning was taken.
            self.window.widen(bytes.len() as u32);
        }
        Ok(())
    }

    /// Adds a message that the client has not sent.
    pub(super) fn add_message(&mut self, message: Message) {
        self.messages.push_back((message, 0));
    }

    /// The part of the body that has come, and whether it is the end of it; nothing if more has to come first.
    pub(super) fn take_body(&mut self) -> Option<(Body, bool)> {
        self.is_wanted = !self.body_ended;
        let body = match self.inline.take() {
            Some(inline) => inline,
            None if self.body.is_empty() && !self.body_ended => return None,
            None => std::mem::take(&mut self.body).into(),
        };
        if !self.body_ended {
            self.window.widen(body.len() as u32);
        }
        Some((body, self.body_ended && self.body.is_empty()))
    }

    pub(super) fn take_message(&mut self) -> Option<Message> {
        let (message, untold) = self.messages.pop_front()?;
        self.window.widen(untold);
        Some(message)
    }
}
