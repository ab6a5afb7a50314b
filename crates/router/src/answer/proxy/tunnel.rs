//! Both directions of a connection that was upgraded: bytes go through as they are.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::pin;
use std::time::Duration;

use smallvec::SmallVec;

use super::response_head::ResponseStart;
use crate::clock::deadline::Elapsed;
use crate::exchange::response::ResponseWriter;
use crate::io::{SocketInterest, now};
use crate::request::client::Gone;
use crate::storage::buffers;
use crate::upstream::ServerConnection;

/// Room for one read.
const READ_STEP: usize = 16 * 1024;

/// Switches the client's connection to what the server has switched its own to, and passes on everything until
/// both sides have ended, one is broken, or nothing has come for `limit`.
pub(crate) async fn run(
    response: &mut ResponseWriter<'_, '_>,
    connection: &mut ServerConnection,
    answer: &ResponseStart,
    limit: Duration,
) -> Result<(), Gone> {
    open(response, answer).await?;
    join(response, connection, &answer.input[answer.head.len()..], limit).await;
    Ok(())
}

/// Switches the client's connection to what the server has switched its own to.
pub(super) async fn open(response: &mut ResponseWriter<'_, '_>, answer: &ResponseStart) -> Result<(), Gone> {
    answer.copy_fields(response);
    if let Some(protocol) = answer.head.upgrade(&answer.input) {
        response.reply.fields.push(b"Upgrade", protocol);
    }
    response.open_switch().finish(response, b"").await
}

/// The first bytes that came from a server: as many as the version and the status of HTTP/1 have.
pub(crate) type StatusStart = SmallVec<[u8; 12]>;

/// Passes on everything between the client and a server, of which `received` has come, until both sides have ended, one
/// is broken, or nothing has come for `limit`.
pub(crate) async fn join(
    response: &mut ResponseWriter<'_, '_>,
    server: &mut impl TunnelServer,
    received: &[u8],
    limit: Duration,
) -> StatusStart {
    let mut up = TunnelHalf::new(&response.client.carrier.take_over());
    let mut down = TunnelHalf::new(received);
    // Nothing of HTTP follows. The client may still be sending, and would not get what it was sent if the connection
    // were cut under it.
    (response.reply.close, response.reply.linger) = (true, true);
    // Whichever side has ended it, or how: nothing comes after it.
    let _ = pass(response, server, &mut up, &mut down, limit).await;
    response.reply.n_body_bytes += down.n_passed;
    buffers::give(up.buffer);
    buffers::give(down.buffer);
    down.beginning
}

/// The server's end of a tunnel. All that waits is cancel safe.
pub(crate) trait TunnelServer {
    /// Waits until there is something of what is wanted.
    async fn ready(&mut self, wanted: SocketInterest) -> io::Result<SocketInterest>;

    /// Appends what there is to read, and waits for it; 0 at the end.
    async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize>;

    /// Writes as much of the pieces as there is room for.
    fn try_write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Sends what was taken, as far as there is room.
    fn flush(&mut self) -> io::Result<()>;

    /// Says that nothing more will be written.
    async fn shut_down(&mut self) -> io::Result<()>;

    /// Whether the server has closed, and not only said that it sends nothing more.
    fn has_hung_up(&self) -> bool;
}

impl TunnelServer for ServerConnection {
    async fn ready(&mut self, wanted: SocketInterest) -> io::Result<SocketInterest> {
        Self::ready(self, wanted).await
    }

    async fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        Self::read(self, buffer).await
    }

    fn try_write(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        Self::try_write(self, pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        Self::flush(self)
    }

    async fn shut_down(&mut self) -> io::Result<()> {
        Self::shut_down(self).await
    }

    fn has_hung_up(&self) -> bool {
        Self::has_hung_up(self)
    }
}

/// One direction.
struct TunnelHalf {
    /// Received and not sent on.
    buffer: Vec<u8>,
    n_sent: usize,
    n_passed: u64,
    beginning: StatusStart,
    /// The sender has ended.
    is_read: bool,
    /// The receiver knows.
    is_shut: bool,
}

impl TunnelHalf {
    fn new(received: &[u8]) -> Self {
        let mut buffer = buffers::take();
        buffer.extend_from_slice(received);
        let beginning = StatusStart::new();
        Self { buffer, n_sent: 0, n_passed: 0, beginning, is_read: false, is_shut: false }
    }

    fn is_empty(&self) -> bool {
        self.n_sent == self.buffer.len()
    }

    fn wants_bytes(&self) -> bool {
        self.is_empty() && !self.is_read
    }

    /// Takes the result of reading.
    fn read(&mut self, read: Option<io::Result<usize>>) -> io::Result<()> {
        self.is_read = matches!(read.transpose()?, Some(0));
        Ok(())
    }

    fn make_room(&mut self) -> &mut Vec<u8> {
        self.buffer.clear();
        self.n_sent = 0;
        self.buffer.reserve(READ_STEP);
        &mut self.buffer
    }

    /// Sends what is there.
    fn write(&mut self, mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>) -> io::Result<()> {
        while !self.is_empty() {
            match write(&[IoSlice::new(&self.buffer[self.n_sent..])]) {
                Ok(n) => {
                    let n_more = n.min(self.beginning.inline_size() - self.beginning.len());
                    self.beginning.extend_from_slice(&self.buffer[self.n_sent..][..n_more]);
                    self.n_sent += n;
                    self.n_passed += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The receiver takes nothing more, and knows that by itself.
    fn give_up(&mut self) {
        self.n_sent = self.buffer.len();
        (self.is_read, self.is_shut) = (true, true);
    }

    /// Whether the receiver has to be told that the sender has ended; once.
    fn ends_now(&mut self) -> bool {
        let ends = self.is_read && self.is_empty() && !self.is_shut;
        self.is_shut |= ends;
        ends
    }
}

async fn pass(
    response: &mut ResponseWriter<'_, '_>,
    far: &mut impl TunnelServer,
    up: &mut TunnelHalf,
    down: &mut TunnelHalf,
    limit: Duration,
) -> io::Result<()> {
    let (wire, deadline) = (response.client.carrier.wire(), response.client.deadline);
    loop {
        // A side that takes nothing more may have sent something before that.
        up.write(|pieces| far.try_write(pieces)).and_then(|()| far.flush()).unwrap_or_else(|_| up.give_up());
        down.write(|pieces| wire.try_write(pieces))?;
        if up.ends_now() {
            far.shut_down().await?;
        }
        if down.ends_now() {
            poll_fn(|context| wire.poll_shut_down(context)).await?;
        }
        if down.is_shut && (up.is_shut || far.has_hung_up()) {
            return Ok(());
        }
        let wanted = SocketInterest { bytes: up.wants_bytes(), room: !down.is_empty() };
        let client = poll_fn(|context| wire.poll_ready(context, wanted));
        let server = far.ready(SocketInterest { bytes: down.wants_bytes(), room: !up.is_empty() });
        let ready = async {
            tokio::select! {
                ready = client => ready.map(|ready| (ready.bytes, false)),
                ready = server => ready.map(|ready| (false, ready.bytes)),
            }
        };
        let ready = deadline.limit(limit, pin!(ready)).await;
        let (from_client, from_server) = ready.map_err(|Elapsed| io::ErrorKind::TimedOut)??;
        if from_client && up.wants_bytes() {
            let read = now(poll_fn(|context| wire.poll_read(context, up.make_room()))).await;
            up.read(read)?;
        }
        if from_server && down.wants_bytes() {
            let read = now(far.read(down.make_room())).await;
            down.read(read)?;
        }
    }
}
