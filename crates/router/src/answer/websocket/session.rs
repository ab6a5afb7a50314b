//! A WebSocket connection between a client and a request that an application runs.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::pin;
use std::time::{Duration, Instant};

use corral_channel::Opcode;
use corral_config::settings::WebSocketSettings;
use corral_http::websocket::{Closing, Control, Incoming, Item, Outgoing, Part};

use super::accept;
use crate::exchange::Exchange;
use crate::instance::{Call, Piece};
use crate::io::{Wanted, now};
use crate::request::client::Gone;
use crate::storage::buffers;

/// Room for one read.
const READ_STEP: usize = 16 * 1024;

/// Bytes for the client that are gathered before the application waits for it, and nothing more of it is read.
const MOST_PENDING: usize = 64 * 1024;

/// The close code of a connection that has served its purpose.
const NORMAL: u16 = 1000;

/// Accepts the connection, and passes messages on until it is closed. `first` is what the application said with its
/// acceptance.
pub(crate) async fn run(
    exchange: &mut Exchange<'_>,
    call: &Call,
    first: &[u8],
    app: &str,
) -> Result<(), Gone> {
    exchange.reply.fields.push(b"Upgrade", b"websocket");
    exchange.reply.fields.push(b"Sec-WebSocket-Accept", accept(exchange.request).as_bytes());
    exchange.open_switch().finish(exchange, b"").await?;
    call.upgraded();
    let rules = exchange.rules();
    let mut session = Session {
        app,
        rules: &rules.websocket,
        send_timeout: rules.send_timeout,
        incoming: Incoming::new(rules.websocket.max_frame_size),
        input: exchange.carrier.take_over(),
        outgoing: Outgoing::default(),
        heard: exchange.now(),
        wrote: exchange.now(),
        has_pinged: false,
        unsent: None,
        needs_bytes: false,
        is_cut: false,
    };
    session.take_bytes(first);
    let passed = session.pass(exchange, call).await;
    buffers::give(session.input);
    passed.map_err(|_| Gone)?;
    // The client may still be sending, and would not get to the close if the connection were cut under it.
    exchange.reply.linger = true;
    Ok(())
}

struct Session<'s> {
    app: &'s str,
    rules: &'s WebSocketSettings,
    send_timeout: Duration,
    incoming: Incoming,
    /// What the client has sent and nobody has taken.
    input: Vec<u8>,
    outgoing: Outgoing,
    /// When the client last said something.
    heard: Instant,
    /// When it last took something.
    wrote: Instant,
    /// It was asked for a sign of life since.
    has_pinged: bool,
    /// A part of a message for which the worker has no room: opcode, bytes, whether it is the last one.
    unsent: Option<(Opcode, Vec<u8>, bool)>,
    /// Nothing can be made of `input` without more.
    needs_bytes: bool,
    /// It ends within a frame.
    is_cut: bool,
}

impl Session<'_> {
    async fn pass(&mut self, exchange: &mut Exchange<'_>, call: &Call) -> io::Result<()> {
        loop {
            let now = exchange.now();
            self.take_pieces(call);
            self.take_input(call, now);
            if self.is_cut {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            self.write(exchange, now)?;
            if self.outgoing.is_closed() && self.outgoing.pending().is_empty() {
                return Ok(());
            }
            self.wait(exchange, call).await?;
        }
    }

    /// Takes what the application has said.
    fn take_pieces(&mut self, call: &Call) {
        while !self.outgoing.is_closed() && self.outgoing.pending().len() < MOST_PENDING {
            match call.try_next_piece() {
                None => return,
                Some(Ok(Piece::Data(data))) => {
                    self.take_bytes(&data);
                    buffers::give(data);
                }
                Some(Ok(Piece::Head(_) | Piece::Interim(_) | Piece::Hijacked(_))) => {}
                Some(Ok(Piece::File(_))) => self.refuse(),
                Some(Ok(Piece::End)) => {
                    self.close(Closing { code: 1011, reason: "the application has ended" });
                }
                Some(Err(failure)) => {
                    tracing::error!("\"{}\": {failure}; a WebSocket connection is closed", self.app);
                    self.close(Closing { code: 1011, reason: "the application has failed" });
                }
            }
        }
    }

    fn take_bytes(&mut self, bytes: &[u8]) {
        if self.outgoing.take(bytes).is_err() {
            self.refuse();
        }
    }

    fn refuse(&mut self) {
        tracing::error!("\"{}\": the worker sends what is no frame of a WebSocket connection", self.app);
        self.close(Closing { code: 1011, reason: "the application has failed" });
    }

    fn close(&mut self, closing: Closing) {
        // One that cannot be said within a frame is seen as the end of the connection.
        self.is_cut |= !self.outgoing.close(&closing.payload());
    }

    /// Passes on what the client has said, as far as the application takes it.
    fn take_input(&mut self, call: &Call, now: Instant) {
        let mut n_used = 0;
        self.needs_bytes = false;
        while !self.outgoing.is_closed() && self.send_unsent(call) {
            let rest = &mut self.input[n_used..];
            let window = call.window() as usize;
            let (n, item) = match self.incoming.next(rest, window) {
                Ok(next) => next,
                Err(closing) => {
                    self.close(closing);
                    break;
                }
            };
            if n == 0 && item.is_none() {
                self.needs_bytes = window > 0 || rest.is_empty();
                break;
            }
            self.take_item(call, item, n_used);
            (self.heard, self.has_pinged) = (now, false);
            n_used += n;
        }
        self.input.drain(..n_used);
        if self.input.is_empty() {
            buffers::give(std::mem::take(&mut self.input));
        }
    }

    /// Sends what there was no room for; false if there still is none.
    fn send_unsent(&mut self, call: &Call) -> bool {
        if let Some((opcode, bytes, ends)) = &self.unsent {
            if !call.send_message(bytes, *opcode, *ends) {
                return false;
            }
            self.unsent = None;
        }
        true
    }

    fn take_item(&mut self, call: &Call, item: Option<Item>, start: usize) {
        let bytes = |range: std::ops::Range<usize>| start + range.start..start + range.end;
        match item {
            None | Some(Item::Pong) => {}
            Some(Item::Text(part)) => self.send_part(call, Opcode::Text, part, start),
            Some(Item::Binary(part)) => self.send_part(call, Opcode::Binary, part, start),
            Some(Item::Ping(range)) => self.outgoing.control(Control::Pong, &self.input[bytes(range)]),
            Some(Item::Close(range)) => {
                let payload = &self.input[bytes(range)];
                // If there is no room for it, the application learns of the end by that of the request.
                call.send_message(payload, Opcode::Close, true);
                // An echo (RFC 6455 section 5.5.1). Who gave no code closes in good order.
                let echo = if payload.is_empty() { &NORMAL.to_be_bytes()[..] } else { payload };
                self.is_cut |= !self.outgoing.close(echo);
            }
        }
    }

    fn send_part(&mut self, call: &Call, opcode: Opcode, part: Part, start: usize) {
        let bytes = &self.input[start..][part.bytes];
        if !call.send_message(bytes, opcode, part.ends) {
            self.unsent = Some((opcode, bytes.to_vec(), part.ends));
        }
    }

    fn write(&mut self, exchange: &mut Exchange<'_>, now: Instant) -> io::Result<()> {
        while !self.outgoing.pending().is_empty() {
            match exchange.carrier.wire().try_write(&[IoSlice::new(self.outgoing.pending())]) {
                Ok(n) => {
                    self.wrote = now;
                    self.outgoing.sent(n);
                    exchange.reply.n_body_bytes += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if self.outgoing.pending().is_empty() {
            self.wrote = now;
        }
        Ok(())
    }

    /// Waits for either side, or until one has been silent for too long.
    async fn wait(&mut self, exchange: &mut Exchange<'_>, call: &Call) -> io::Result<()> {
        let started = exchange.now();
        let limit = self.patience(started, call.window());
        // Who does not take what waits is not asked for more, and neither is the application.
        let wants_more = !self.outgoing.is_closed() && self.outgoing.pending().len() < MOST_PENDING;
        let wanted =
            Wanted { bytes: self.needs_bytes && wants_more, room: !self.outgoing.pending().is_empty() };
        let window = call.window();
        let is_stuck = self.unsent.is_some();
        let wire = exchange.carrier.wire();
        let ready = async {
            tokio::select! {
                ready = poll_fn(|context| wire.poll_ready(context, wanted)) => ready.map(|ready| ready.bytes),
                () = call.changed(wants_more, window) => Ok(false),
                () = Call::a_moment(is_stuck) => Ok(false),
            }
        };
        let ready = exchange.deadline.limit(limit, pin!(ready)).await;
        let Ok(has_bytes) = ready else { return self.on_silence(exchange.now()) };
        if has_bytes? && wanted.bytes {
            if self.input.capacity() == 0 {
                self.input = buffers::take();
            }
            self.input.reserve(READ_STEP);
            let reading = poll_fn(|context| wire.poll_read(context, &mut self.input));
            if let Some(0) = now(reading).await.transpose()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    /// How long to wait for either side.
    fn patience(&self, now: Instant, window: u32) -> Duration {
        let since = |then: Instant, limit: Duration| (then + limit).saturating_duration_since(now);
        let sending = (!self.outgoing.pending().is_empty()).then(|| since(self.wrote, self.send_timeout));
        // An application that takes nothing is not the client's silence.
        let listening = (window > 0).then(|| {
            let ping = self.rules.keepalive_interval.filter(|_| !self.has_pinged);
            let ping = ping.map(|interval| since(self.heard, interval));
            let timeout = since(self.heard, self.rules.read_timeout);
            ping.map_or(timeout, |ping| ping.min(timeout))
        });
        let limit = sending.into_iter().chain(listening).min();
        limit.unwrap_or(self.rules.read_timeout).max(SHORTEST_WAIT)
    }

    fn on_silence(&mut self, now: Instant) -> io::Result<()> {
        if !self.outgoing.pending().is_empty() && now >= self.wrote + self.send_timeout {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if now >= self.heard + self.rules.read_timeout {
            if !self.outgoing.close(&Closing { code: 1001, reason: "silent for too long" }.payload()) {
                return Err(io::ErrorKind::TimedOut.into());
            }
        } else if self.rules.keepalive_interval.is_some_and(|interval| now >= self.heard + interval) {
            self.outgoing.control(Control::Ping, b"");
            self.has_pinged = true;
        }
        Ok(())
    }
}

/// Deadlines are coarse: one that has passed by then is found.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);
