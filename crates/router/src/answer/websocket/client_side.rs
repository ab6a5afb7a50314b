//! The client's side of a WebSocket connection: what is on its way to it, and how long it may be silent or take
//! nothing.

use std::io::{self, IoSlice};
use std::time::{Duration, Instant};

use corral_config::settings::WebSocketSettings;
use corral_http::websocket::{CloseReason, Control, NoFrame, ServerFrames};

use crate::exchange::response::ResponseWriter;

/// Bytes for the client that are gathered before the application waits for it, and nothing more of it is read.
const MOST_PENDING: usize = 64 * 1024;

/// The close code of a connection that has served its purpose.
const NORMAL: u16 = 1000;

/// Deadlines are coarse: one that has passed by then is found.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

pub(crate) struct ClientSide<'r> {
    rules: &'r WebSocketSettings,
    send_timeout: Duration,
    outgoing: ServerFrames,
    /// When the client last said something.
    heard: Instant,
    /// When it last took something.
    wrote: Instant,
    /// The client was asked for a sign of life since.
    has_pinged: bool,
    /// The bytes end within a frame.
    is_cut: bool,
}

impl<'r> ClientSide<'r> {
    /// The side of a client that has just been let in, under the rules of its configuration.
    pub(crate) fn new(response: &ResponseWriter<'_, 'r>) -> Self {
        let (rules, now) = (response.request.request_settings(), response.now());
        Self {
            rules: &rules.websocket,
            send_timeout: response.client.bounds().send_timeout,
            outgoing: ServerFrames::default(),
            heard: now,
            wrote: now,
            has_pinged: false,
            is_cut: false,
        }
    }

    /// Whether a close is on its way: nothing follows it.
    pub(crate) fn is_closed(&self) -> bool {
        self.outgoing.is_closed()
    }

    /// Whether the client is asked for more, and the application for something to say.
    pub(crate) fn takes_more(&self) -> bool {
        !self.is_closed() && self.outgoing.pending().len() < MOST_PENDING
    }

    /// Whether something waits until the client takes it.
    pub(crate) fn wants_room(&self) -> bool {
        !self.outgoing.pending().is_empty()
    }

    /// The client has given a sign of life.
    pub(crate) fn was_heard(&mut self, now: Instant) {
        (self.heard, self.has_pinged) = (now, false);
    }

    /// Takes bytes of the application.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), NoFrame> {
        self.outgoing.take(bytes)
    }

    /// Adds a control frame of the router.
    pub(crate) fn control(&mut self, kind: Control, payload: &[u8]) {
        self.outgoing.control(kind, payload);
    }

    pub(crate) fn close(&mut self, closing: CloseReason) {
        self.close_with(&closing.payload());
    }

    /// Answers the client's close (RFC 6455 section 5.5.1). One without a code closes in good order.
    pub(crate) fn echo(&mut self, payload: &[u8]) {
        let normal = NORMAL.to_be_bytes();
        self.close_with(if payload.is_empty() { &normal } else { payload });
    }

    fn close_with(&mut self, payload: &[u8]) {
        // A close that cannot be said within a frame is seen as the end of the connection.
        self.is_cut |= !self.outgoing.close(payload);
    }

    /// Sends as much as there is room for. True once the last frame has been sent.
    ///
    /// # Errors
    /// When the connection is broken, or has to be cut.
    pub(crate) fn send(&mut self, response: &mut ResponseWriter<'_, '_>, now: Instant) -> io::Result<bool> {
        if self.is_cut {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        while self.wants_room() {
            match response.client.carrier.wire().try_write(&[IoSlice::new(self.outgoing.pending())]) {
                Ok(n) => {
                    self.wrote = now;
                    self.outgoing.sent(n);
                    response.reply.n_body_bytes += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if !self.wants_room() {
            self.wrote = now;
        }
        Ok(self.is_closed() && !self.wants_room())
    }

    /// How long to wait for either side. The client's silence counts if the application `listens`.
    pub(crate) fn wait_limit(&self, now: Instant, listens: bool) -> Duration {
        let since = |then: Instant, limit: Duration| (then + limit).saturating_duration_since(now);
        let sending = self.wants_room().then(|| since(self.wrote, self.send_timeout));
        let listening = listens.then(|| {
            let ping = self.rules.keepalive_interval.filter(|_| !self.has_pinged);
            let ping = ping.map(|interval| since(self.heard, interval));
            let timeout = since(self.heard, self.rules.read_timeout);
            ping.map_or(timeout, |ping| ping.min(timeout))
        });
        let limit = sending.into_iter().chain(listening).min();
        limit.unwrap_or(self.rules.read_timeout).max(SHORTEST_WAIT)
    }

    /// Asks for a sign of life, or gives up.
    ///
    /// # Errors
    /// When the connection has to be cut.
    pub(crate) fn on_silence(&mut self, now: Instant) -> io::Result<()> {
        if self.wants_room() && now >= self.wrote + self.send_timeout {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if now >= self.heard + self.rules.read_timeout {
            if !self.outgoing.close(&CloseReason { code: 1001, reason: "silent for too long" }.payload()) {
                return Err(io::ErrorKind::TimedOut.into());
            }
        } else if self.rules.keepalive_interval.is_some_and(|interval| now >= self.heard + interval) {
            self.control(Control::Ping, b"");
            self.has_pinged = true;
        }
        Ok(())
    }
}
