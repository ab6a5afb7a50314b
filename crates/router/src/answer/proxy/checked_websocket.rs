//! A WebSocket connection between a client and a program of Unit's types (contract 23.5). Frames go through as they
//! are, but the client's are held to the protocol and to `settings.http.websocket` before the program has them, and its
//! pings are answered here.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::pin;
use std::time::Instant;

use corral_http::websocket::{ClientFrames, CloseReason, Control};

use super::response_head::ResponseStart;
use super::tunnel::{TunnelServer, open};
use crate::answer::websocket::ClientSide;
use crate::exchange::response::ResponseWriter;
use crate::io::{SocketInterest, now};
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::ServerConnection;

/// Room for one read.
const READ_STEP: usize = 16 * 1024;

/// Switches the client's connection, and passes on frames until either side has closed it or is gone. `program` is the
/// application's name.
pub(super) async fn run(
    response: &mut ResponseWriter<'_, '_>,
    connection: &mut ServerConnection,
    answer: &ResponseStart,
    program: &str,
) -> Result<(), Gone> {
    open(response, answer).await?;
    let mut fields = answer.head.fields(&answer.input);
    let is_extended = fields.any(|(name, _)| name.eq_ignore_ascii_case(b"Sec-WebSocket-Extensions"));
    let rules = response.request.request_settings();
    let mut watched = CheckedWebSocket {
        program,
        incoming: ClientFrames::new(rules.websocket.max_frame_size).extended(is_extended),
        input: response.client.carrier.take_over(),
        client: ClientSide::new(response),
        up: CheckedBytes::default(),
        said_close: None,
    };
    watched.take(&answer.input[answer.head.len()..]);
    // Nothing of HTTP follows.
    response.reply.close = true;
    let passed = watched.pass(response, connection).await;
    buffers::give(watched.input);
    buffers::give(watched.up.bytes);
    passed.map_err(|_| Gone)?;
    // The client may still be sending, and would not get to the close if the connection were cut under it.
    response.reply.linger = true;
    Ok(())
}

struct CheckedWebSocket<'w> {
    program: &'w str,
    incoming: ClientFrames,
    /// Bytes of the client that are not checked.
    input: Vec<u8>,
    client: ClientSide<'w>,
    up: CheckedBytes,
    /// The code that the client has closed the connection with. It says nothing more.
    said_close: Option<Vec<u8>>,
}

/// Checked bytes on their way to the program.
#[derive(Default)]
struct CheckedBytes {
    bytes: Vec<u8>,
    n_sent: usize,
    /// The program takes nothing more.
    is_deaf: bool,
}

impl CheckedWebSocket<'_> {
    async fn pass(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        connection: &mut ServerConnection,
    ) -> io::Result<()> {
        loop {
            let now = response.now();
            self.check(now);
            self.up.send(connection);
            if self.client.send(response, now)? {
                return Ok(());
            }
            self.wait(response, connection).await?;
        }
    }

    /// Lets go on what the client has said, once the program has taken what was said before.
    fn check(&mut self, now: Instant) {
        if !self.up.is_empty() {
            return;
        }
        let mut n_checked = 0;
        while self.said_close.is_none() && !self.client.is_closed() {
            match self.check_one(n_checked, now) {
                Ok(0) => break,
                Ok(n) => n_checked += n,
                Err(closing) => self.client.close(closing),
            }
        }
        self.input.drain(..n_checked);
        if self.input.is_empty() {
            buffers::give(std::mem::take(&mut self.input));
        }
    }

    /// Checks the beginning of what is left from `start` on.
    fn check_one(&mut self, start: usize, now: Instant) -> Result<usize, CloseReason> {
        let rest = &self.input[start..];
        let (n, control) = self.incoming.check(rest)?;
        if n > 0 {
            self.client.was_heard(now);
        }
        match control {
            Some((Control::Ping, payload)) => self.client.control(Control::Pong, &payload),
            control => {
                self.up.add(&rest[..n]);
                self.said_close =
                    control.and_then(|(kind, payload)| (kind == Control::Close).then_some(payload));
            }
        }
        Ok(n)
    }

    /// Takes what the program has said.
    fn take(&mut self, bytes: &[u8]) {
        if self.client.take(bytes).is_err() {
            tracing::error!(
                "\"{}\": the program sends what is not a frame of a WebSocket connection",
                self.program
            );
            self.client.close(CloseReason { code: 1011, reason: "the application has failed" });
        }
    }

    /// Waits for either side, or until one has been silent for too long.
    async fn wait(
        &mut self,
        response: &mut ResponseWriter<'_, '_>,
        connection: &mut ServerConnection,
    ) -> io::Result<()> {
        // A program that takes nothing is not the client's silence.
        let listens = self.up.is_empty();
        let limit = self.client.wait_limit(response.now(), listens);
        let wants_more = self.client.takes_more();
        let wants_input = wants_more && listens && self.said_close.is_none();
        let wanted = SocketInterest { bytes: wants_input, room: self.client.wants_room() };
        let wire = response.client.carrier.wire();
        let ready = async {
            tokio::select! {
                ready = poll_fn(|context| wire.poll_ready(context, wanted)) => ready.map(|ready| (ready.bytes, false)),
                ready = TunnelServer::ready(connection, SocketInterest { bytes: wants_more, room: !listens }) => {
                    Ok((false, ready.map_or(true, |ready| ready.bytes)))
                }
            }
        };
        let ready = response.client.deadline.limit(limit, pin!(ready)).await;
        let Ok(ready) = ready else { return self.client.on_silence(response.now()) };
        let (from_client, from_program) = ready?;
        if from_client && wants_input {
            let wire = response.client.carrier.wire();
            let reading = poll_fn(|context| wire.poll_read(context, make_room(&mut self.input)));
            if let Some(0) = now(reading).await.transpose()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        if from_program {
            self.read(connection).await;
        }
        Ok(())
    }

    async fn read(&mut self, connection: &mut ServerConnection) {
        let mut buffer = buffers::take();
        match now(TunnelServer::read(connection, make_room(&mut buffer))).await {
            None => {}
            Some(Ok(n)) if n > 0 => self.take(&buffer),
            Some(_) => match self.said_close.take() {
                Some(payload) => self.client.echo(&payload),
                None => self.client.close(CloseReason { code: 1011, reason: "the application has ended" }),
            },
        }
        buffers::give(buffer);
    }
}

impl CheckedBytes {
    fn is_empty(&self) -> bool {
        self.n_sent == self.bytes.len()
    }

    fn add(&mut self, bytes: &[u8]) {
        if !self.is_deaf {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Sends as much as there is room for. A program that takes nothing more may have said something before that.
    fn send(&mut self, connection: &mut ServerConnection) {
        while !self.is_empty() {
            match connection.try_write(&[IoSlice::new(&self.bytes[self.n_sent..])]) {
                Ok(n) => self.n_sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.is_deaf = true;
                    break;
                }
            }
        }
        self.n_sent = 0;
        buffers::give(std::mem::take(&mut self.bytes));
    }
}

fn make_room(buffer: &mut Vec<u8>) -> &mut Vec<u8> {
    if buffer.capacity() == 0 {
        *buffer = buffers::take();
    }
    buffer.reserve(READ_STEP);
    buffer
}
