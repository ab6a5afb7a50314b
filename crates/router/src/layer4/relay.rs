//! Both directions of a connection that is passed on.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::pin;
use std::time::Duration;

use crate::clock::deadline::Deadline;
use crate::io::{ClientStream, SocketInterest, now};
use crate::storage::buffers;
use crate::upstream::ServerConnection;

/// Room for one read.
const READ_STEP: usize = 16 * 1024;

/// Reads in a row after which others get their turn, as fast peers would always have something more.
const READS_PER_TURN: u32 = 32;

/// Longest wait for a client to get what came before a reset.
const DELIVERY_TIME: Duration = Duration::from_secs(10);

/// A client and its server.
pub(crate) struct Relay<'r> {
    client: &'r mut ClientStream,
    server: &'r mut ServerConnection,
    up: RelayHalf,
    down: RelayHalf,
}

/// How it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelayEnd {
    /// Both have ended, the client first.
    Client,
    /// Both have ended, the server first.
    Server,
    /// The client's connection is broken.
    ClientBroken,
    /// The server's connection is broken.
    ServerBroken,
    /// Nothing has come for too long.
    Idle,
}

/// A side whose connection is broken.
enum Broken {
    Client,
    Server,
}

impl<'r> Relay<'r> {
    /// A relay for a client of which `received` has come.
    pub(crate) fn new(
        client: &'r mut ClientStream,
        server: &'r mut ServerConnection,
        received: Vec<u8>,
    ) -> Self {
        Self { client, server, up: RelayHalf::new(received), down: RelayHalf::new(Vec::new()) }
    }

    /// Bytes that have come to the server, and to the client.
    pub(crate) fn n_passed(&self) -> (u64, u64) {
        (self.up.n_passed, self.down.n_passed)
    }

    /// Passes on everything until both sides have ended, one is broken, or nothing has come for `limit`. Cancel safe.
    pub(crate) async fn run(&mut self, deadline: &Deadline, limit: Duration) -> RelayEnd {
        let passed = self.pass(deadline, limit).await;
        match passed {
            Ok(end) => end,
            // What one side has seen, the other one is to see, too.
            Err(Broken::Client) => {
                self.server.reset_on_drop();
                RelayEnd::ClientBroken
            }
            Err(Broken::Server) => {
                let _ = deadline.limit(DELIVERY_TIME, pin!(self.deliver())).await;
                self.client.reset_on_drop();
                RelayEnd::ServerBroken
            }
        }
    }

    async fn pass(&mut self, deadline: &Deadline, limit: Duration) -> Result<RelayEnd, Broken> {
        let mut client_was_first = None;
        let mut n_reads = 0;
        loop {
            self.write();
            self.pass_ends_on().await?;
            let ended = (self.up.is_read, self.down.is_read);
            if ended.0 || ended.1 {
                client_was_first.get_or_insert(ended.0);
            }
            if self.down.is_shut && (self.up.is_shut || self.server.has_hung_up()) {
                let is_client = client_was_first.unwrap_or_default();
                return Ok(if is_client { RelayEnd::Client } else { RelayEnd::Server });
            }
            n_reads += 1;
            if n_reads % READS_PER_TURN == 0 {
                tokio::task::yield_now().await;
            }
            let Ok(ready) = deadline.limit(limit, pin!(self.ready())).await else {
                return Ok(RelayEnd::Idle);
            };
            let (from_client, from_server) = ready?;
            if from_client && self.up.wants_bytes() {
                let room = self.up.make_room();
                let read = now(poll_fn(|context| self.client.poll_read(context, room))).await;
                self.up.note(read).map_err(|_| Broken::Client)?;
            }
            if from_server && self.down.wants_bytes() {
                let read = now(self.server.read(self.down.make_room())).await;
                self.down.note(read).map_err(|_| Broken::Server)?;
            }
        }
    }

    /// Sends what is there. A side that takes nothing more may have sent something before that.
    fn write(&mut self) {
        let Self { client, server, up, down } = self;
        let sent = up.write(|pieces| server.try_write(pieces)).and_then(|()| server.flush());
        sent.unwrap_or_else(|_| up.give_up());
        down.write(|pieces| client.try_write(pieces)).unwrap_or_else(|_| down.give_up());
    }

    /// Sends what the server has said before it broke: a reset takes back what the client has not got by then.
    async fn deliver(&mut self) {
        while !self.down.is_empty() {
            let Self { client, down, .. } = self;
            if down.write(|pieces| client.try_write(pieces)).is_err() {
                return;
            }
            let room = SocketInterest { bytes: false, room: !self.down.is_empty() };
            if room.room && poll_fn(|context| self.client.poll_wait(context, room)).await.is_err() {
                return;
            }
        }
        self.client.delivered().await;
    }

    async fn pass_ends_on(&mut self) -> Result<(), Broken> {
        if self.up.ends_now() {
            self.server.shut_down().await.map_err(|_| Broken::Server)?;
        }
        if self.down.ends_now() {
            self.client.shut_down().await.map_err(|_| Broken::Client)?;
        }
        Ok(())
    }

    /// Waits until there is something to do; whether there is something to read from the client, and from the server.
    /// Cancel safe.
    async fn ready(&self) -> Result<(bool, bool), Broken> {
        let wanted = SocketInterest { bytes: self.up.wants_bytes(), room: !self.down.is_empty() };
        let client = poll_fn(|context| self.client.poll_wait(context, wanted));
        let wanted = SocketInterest { bytes: self.down.wants_bytes(), room: !self.up.is_empty() };
        tokio::select! {
            ready = client => ready.map(|ready| (ready.bytes, false)).map_err(|_| Broken::Client),
            ready = self.server.ready(wanted) => {
                ready.map(|ready| (false, ready.bytes)).map_err(|_| Broken::Server)
            }
        }
    }
}

impl Drop for Relay<'_> {
    fn drop(&mut self) {
        self.up.give_buffer_back();
        self.down.give_buffer_back();
    }
}

/// One direction.
struct RelayHalf {
    /// Received and not sent on. Without memory while there is nothing.
    buffer: Vec<u8>,
    n_sent: usize,
    n_passed: u64,
    /// The sender has ended.
    is_read: bool,
    /// The receiver knows.
    is_shut: bool,
}

impl RelayHalf {
    fn new(received: Vec<u8>) -> Self {
        Self { buffer: received, n_sent: 0, n_passed: 0, is_read: false, is_shut: false }
    }

    fn is_empty(&self) -> bool {
        self.n_sent == self.buffer.len()
    }

    fn wants_bytes(&self) -> bool {
        self.is_empty() && !self.is_read
    }

    fn make_room(&mut self) -> &mut Vec<u8> {
        if self.buffer.capacity() == 0 {
            self.buffer = buffers::take();
        }
        self.buffer.clear();
        self.n_sent = 0;
        self.buffer.reserve(READ_STEP);
        &mut self.buffer
    }

    /// Notes the result of reading.
    fn note(&mut self, read: Option<io::Result<usize>>) -> io::Result<()> {
        self.is_read = matches!(read.transpose()?, Some(0));
        if self.is_empty() {
            self.give_buffer_back();
        }
        Ok(())
    }

    /// Sends what is there, as far as there is room.
    fn write(&mut self, mut write: impl FnMut(&[IoSlice<'_>]) -> io::Result<usize>) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        while !self.is_empty() {
            match write(&[IoSlice::new(&self.buffer[self.n_sent..])]) {
                Ok(n) => {
                    self.n_sent += n;
                    self.n_passed += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.give_buffer_back();
        Ok(())
    }

    /// The receiver takes nothing more, and knows that by itself.
    fn give_up(&mut self) {
        self.give_buffer_back();
        (self.is_read, self.is_shut) = (true, true);
    }

    /// Whether the receiver has to be told that the sender has ended; once.
    fn ends_now(&mut self) -> bool {
        let ends = self.is_read && self.is_empty() && !self.is_shut;
        self.is_shut |= ends;
        ends
    }

    fn give_buffer_back(&mut self) {
        buffers::give(std::mem::take(&mut self.buffer));
        self.n_sent = 0;
    }
}
