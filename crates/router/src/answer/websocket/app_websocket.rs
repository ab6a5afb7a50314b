//! A WebSocket connection between a client and a request that an application runs.
//!
//! The router answers 101 when the worker does. It takes the client's frames apart and passes on as many bytes as the
//! worker has asked for. The worker's response body consists of frames; the router looks only where they end, so that
//! its own (pongs, pings, a close) come between them.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::time::Instant;

use corral_channel::Opcode;
use corral_http::websocket::{ClientFrames, ClientItem, CloseReason, Control, MessagePart};

use super::accept;
use super::client_side::ClientSide;
use crate::error_chain::Chain;
use crate::exchange::response::ResponseWriter;
use crate::instance::{AnswerPiece, AppCall};
use crate::io::{SocketInterest, now};
use crate::request::client::Gone;
use crate::storage::buffers;

/// Room for one read.
const READ_STEP: usize = 16 * 1024;

/// Accepts the connection, and passes messages on until it is closed. `first` is what the application said with its
/// acceptance.
pub(crate) async fn run(
    response: &mut ResponseWriter<'_, '_>,
    call: &AppCall,
    first: &[u8],
    app: &str,
) -> Result<(), Gone> {
    response.reply.fields.push(b"Upgrade", b"websocket");
    response.reply.fields.push(b"Sec-WebSocket-Accept", accept(response.request.received).as_bytes());
    response.open_switch().finish(response, b"").await?;
    call.upgraded();
    let rules = response.request.request_settings();
    let mut session = AppWebSocket {
        app,
        incoming: ClientFrames::new(rules.websocket.max_frame_size),
        input: response.client.carrier.take_over(),
        client: ClientSide::new(response),
        unsent: None,
        needs_bytes: false,
    };
    session.take_bytes(first);
    let passed = session.pass(response, call).await;
    buffers::give(session.input);
    passed.map_err(|_| Gone)?;
    // The client may still be sending, and would not get to the close if the connection were cut under it.
    response.reply.linger = true;
    Ok(())
}

struct AppWebSocket<'s> {
    app: &'s str,
    incoming: ClientFrames,
    /// Bytes of the client that the application has not taken.
    input: Vec<u8>,
    client: ClientSide<'s>,
    /// A part of a message for which the worker has no room: opcode, bytes, whether it is the last one.
    unsent: Option<(Opcode, Vec<u8>, bool)>,
    /// Nothing can be made of `input` without more.
    needs_bytes: bool,
}

impl AppWebSocket<'_> {
    async fn pass(&mut self, response: &mut ResponseWriter<'_, '_>, call: &AppCall) -> io::Result<()> {
        loop {
            let now = response.now();
            self.take_pieces(call);
            self.take_input(call, now);
            if self.client.send(response, now)? {
                return Ok(());
            }
            self.wait(response, call).await?;
        }
    }

    /// Takes what the application has said.
    fn take_pieces(&mut self, call: &AppCall) {
        while self.client.takes_more() {
            match call.try_next_piece() {
                None => return,
                Some(Ok(AnswerPiece::Data(data))) => {
                    self.take_bytes(&data);
                    buffers::give(data);
                }
                Some(Ok(AnswerPiece::Head(_) | AnswerPiece::Interim(_) | AnswerPiece::Hijacked(_))) => {}
                Some(Ok(AnswerPiece::File(_))) => self.refuse(),
                Some(Ok(AnswerPiece::End)) => {
                    self.client.close(CloseReason { code: 1011, reason: "the application has ended" });
                }
                Some(Err(failure)) => {
                    let failure = Chain(&failure);
                    tracing::error!("\"{}\": {failure}; a WebSocket connection is closed", self.app);
                    self.client.close(CloseReason { code: 1011, reason: "the application has failed" });
                }
            }
        }
    }

    fn take_bytes(&mut self, bytes: &[u8]) {
        if self.client.take(bytes).is_err() {
            self.refuse();
        }
    }

    fn refuse(&mut self) {
        tracing::error!("\"{}\": the worker sends what is not a frame of a WebSocket connection", self.app);
        self.client.close(CloseReason { code: 1011, reason: "the application has failed" });
    }

    /// Passes on what the client has said, as far as the application takes it.
    fn take_input(&mut self, call: &AppCall, now: Instant) {
        let mut n_used = 0;
        self.needs_bytes = false;
        while !self.client.is_closed() && self.send_unsent(call) {
            let rest = &mut self.input[n_used..];
            let window = call.window() as usize;
            let (n, item) = match self.incoming.next(rest, window) {
                Ok(next) => next,
                Err(closing) => {
                    self.client.close(closing);
                    break;
                }
            };
            if n == 0 && item.is_none() {
                self.needs_bytes = window > 0 || rest.is_empty();
                break;
            }
            self.take_item(call, item, n_used);
            self.client.was_heard(now);
            n_used += n;
        }
        self.input.drain(..n_used);
        if self.input.is_empty() {
            buffers::give(std::mem::take(&mut self.input));
        }
    }

    /// Sends what there was no room for; false if there still is none.
    fn send_unsent(&mut self, call: &AppCall) -> bool {
        if let Some((opcode, bytes, ends)) = &self.unsent {
            if !call.send_message(bytes, *opcode, *ends) {
                return false;
            }
            self.unsent = None;
        }
        true
    }

    fn take_item(&mut self, call: &AppCall, item: Option<ClientItem>, start: usize) {
        let bytes = |range: std::ops::Range<usize>| start + range.start..start + range.end;
        match item {
            None | Some(ClientItem::Pong) => {}
            Some(ClientItem::Text(part)) => self.send_part(call, Opcode::Text, part, start),
            Some(ClientItem::Binary(part)) => self.send_part(call, Opcode::Binary, part, start),
            Some(ClientItem::Ping(range)) => self.client.control(Control::Pong, &self.input[bytes(range)]),
            Some(ClientItem::Close(range)) => {
                let payload = &self.input[bytes(range)];
                // If there is no room for it, the application learns of the end by that of the request.
                call.send_message(payload, Opcode::Close, true);
                self.client.echo(payload);
            }
        }
    }

    fn send_part(&mut self, call: &AppCall, opcode: Opcode, part: MessagePart, start: usize) {
        let bytes = &self.input[start..][part.bytes];
        if !call.send_message(bytes, opcode, part.ends) {
            self.unsent = Some((opcode, bytes.to_vec(), part.ends));
        }
    }

    /// Waits for either side, or until one has been silent for too long.
    async fn wait(&mut self, response: &mut ResponseWriter<'_, '_>, call: &AppCall) -> io::Result<()> {
        let started = response.now();
        // An application that takes nothing is not the client's silence.
        let limit = self.client.wait_limit(started, call.window() > 0);
        // A client that does not take what waits is not asked for more, and neither is the application.
        let wants_more = self.client.takes_more();
        let wanted = SocketInterest { bytes: self.needs_bytes && wants_more, room: self.client.wants_room() };
        let window = call.window();
        let is_stuck = self.unsent.is_some();
        let wire = response.client.carrier.wire();
        let ready = async {
            tokio::select! {
                ready = poll_fn(|context| wire.poll_ready(context, wanted)) => ready.map(|ready| ready.bytes),
                () = call.changed(wants_more, window) => Ok(false),
                () = AppCall::a_moment(is_stuck) => Ok(false),
            }
        };
        let ready = response.client.deadline.limit(limit, pin!(ready)).await;
        let Ok(has_bytes) = ready else { return self.client.on_silence(response.now()) };
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
}
