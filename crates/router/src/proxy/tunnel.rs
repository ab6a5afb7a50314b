//! Both directions of a connection that was upgraded: bytes go through as they are.

use std::io::{self, IoSlice};
use std::pin::pin;
use std::time::Duration;

use super::exchange::Answer;
use super::line::Line;
use crate::buffers;
use crate::connection::Connection;
use crate::deadline::Elapsed;
use crate::io::{Wanted, now};
use crate::transaction::{Gone, Transaction};

/// Room for one read.
const READ_STEP: usize = 16 * 1024;

/// Switches the client's connection to what the server has switched its own to, and passes on everything until
/// both sides have ended, one is broken, or nothing has come for `limit`.
pub(crate) async fn run(
    tx: &mut Transaction<'_>,
    line: &mut Line,
    answer: &Answer,
    limit: Duration,
) -> Result<(), Gone> {
    let Answer { head, input } = answer;
    for (name, value) in head.fields(input) {
        tx.reply.fields.push_checked(name, value);
    }
    if let Some(protocol) = head.upgrade(input) {
        tx.reply.fields.push(b"Upgrade", protocol);
    }
    tx.open_switch().finish(tx, b"").await?;
    let mut up = Half::new(&std::mem::take(&mut tx.rest));
    let mut down = Half::new(&input[head.len()..]);
    let passed = pass(tx.connection, line, &mut up, &mut down, limit).await;
    tx.reply.n_body_bytes += down.n_passed;
    buffers::give(up.buffer);
    buffers::give(down.buffer);
    passed.map_err(|_| Gone)?;
    // Nothing of HTTP follows.
    Err(Gone)
}

/// One direction.
struct Half {
    /// Received and not sent on.
    buffer: Vec<u8>,
    n_sent: usize,
    n_passed: u64,
    /// The sender has ended.
    is_read: bool,
    /// The receiver knows.
    is_shut: bool,
}

impl Half {
    fn new(received: &[u8]) -> Self {
        let mut buffer = buffers::take();
        buffer.extend_from_slice(received);
        Self { buffer, n_sent: 0, n_passed: 0, is_read: false, is_shut: false }
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
                    self.n_sent += n;
                    self.n_passed += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether the receiver has to be told that the sender has ended; once.
    fn ends_now(&mut self) -> bool {
        let ends = self.is_read && self.is_empty() && !self.is_shut;
        self.is_shut |= ends;
        ends
    }
}

async fn pass(
    connection: &mut Connection,
    line: &mut Line,
    up: &mut Half,
    down: &mut Half,
    limit: Duration,
) -> io::Result<()> {
    let Connection { stream, deadline, .. } = connection;
    loop {
        up.write(|pieces| line.try_write(pieces))?;
        down.write(|pieces| stream.try_write(pieces))?;
        if up.ends_now() {
            line.shut_down().await?;
        }
        if down.ends_now() {
            stream.shut_down().await?;
        }
        if up.is_shut && down.is_shut {
            return Ok(());
        }
        let client = stream.wait(Wanted { bytes: up.wants_bytes(), room: !down.is_empty() });
        let server = line.ready(Wanted { bytes: down.wants_bytes(), room: !up.is_empty() });
        let ready = async {
            tokio::select! {
                ready = client => ready.map(|ready| (ready.bytes, false)),
                ready = server => ready.map(|ready| (false, ready.bytes)),
            }
        };
        let ready = deadline.limit(limit, pin!(ready)).await;
        let (from_client, from_server) = ready.map_err(|Elapsed| io::ErrorKind::TimedOut)??;
        if from_client && up.wants_bytes() {
            let read = now(stream.read(up.make_room())).await;
            up.read(read)?;
        }
        if from_server && down.wants_bytes() {
            let read = now(line.read(down.make_room())).await;
            down.read(read)?;
        }
    }
}
