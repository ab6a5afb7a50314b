//! One copy on its way: it is sent, and its response is read and thrown away, so that the connection can be used again.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use corral_http::upstream::ResponseHead;
use tokio::sync::Notify;

use super::super::download::Download;
use super::super::response_head::{HeadReader, HeadStatus};
use super::super::socket::make_room;
use crate::clock::Millis;
use crate::error_chain::Chain;
use crate::mirrors::{MirrorPermit, MirrorTally};
use crate::storage::buffers;
use crate::upstream::{Freshness, LoopServer, Place, ServerConnection, ServerFailure, ServerGroup};

/// Bytes of a response that are read to keep the connection; one with more is closed.
const MOST_READ: usize = 1024 * 1024;

/// A copy of a request, with nothing of the exchange that it was made in.
pub(super) struct MirroredRequest {
    pub(super) group: Arc<ServerGroup>,
    pub(super) server: Rc<LoopServer>,
    pub(super) head: Vec<u8>,
    pub(super) body: Option<Rc<[u8]>>,
    /// The copy is one of a HEAD.
    pub(super) is_head: bool,
    pub(super) timeout: Duration,
    pub(super) tally: Arc<MirrorTally>,
    pub(super) lane: usize,
    /// Hears of connections that are idle again.
    pub(super) idle: Rc<Notify>,
    /// The place that it takes at the server, if that has a number of them.
    pub(super) _place: Option<Place>,
}

impl MirroredRequest {
    /// Sends it; the place among those on their way is free again at the end.
    pub(super) async fn run(mut self, _permit: MirrorPermit) {
        let server = Rc::clone(&self.server);
        let figures = server.figures();
        let active = figures.begin_request();
        let sent = tokio::time::timeout(self.timeout, self.send()).await;
        drop(active);
        let tally = self.tally.figures(self.lane);
        let failure = match sent {
            Ok(Ok(())) => return tally.answered.add(1),
            Ok(Err(failure)) => failure,
            Err(_) => ServerFailure::ResponseTimedOut(self.timeout),
        };
        tally.failed.add(1);
        figures.failures.add(1);
        let now = Millis::of(Instant::now());
        let server = &self.server.shared;
        if failure.is_theirs() {
            server.health.failed(&server.passive, now);
        }
        if let Some(suppressed) = self.tally.failures.admit(now) {
            let failure = Chain(&failure);
            tracing::warn!("{}: {}: {failure}{suppressed}", self.tally.place, self.group.title(Some(server)));
        }
    }

    async fn send(&mut self) -> Result<(), ServerFailure> {
        // One that has been idle for long may be closed, and a copy is not sent twice.
        let mut connection = match self.server.take_kept(Freshness::Fresh, Instant::now()) {
            Some(connection) => connection,
            None => self.server.connect(None).await?,
        };
        connection.begin_request();
        connection.send(&self.head).await.map_err(ServerFailure::Send)?;
        buffers::give(std::mem::take(&mut self.head));
        if let Some(body) = self.body.take() {
            connection.send(&body).await.map_err(ServerFailure::Send)?;
        }
        let mut input = Vec::new();
        let read = self.read(&mut connection, &mut input).await;
        buffers::give(input);
        let seconds = read?;
        self.server.shared.health.succeeded();
        if self.server.keep(connection, seconds, Instant::now()) {
            self.idle.notify_one();
        }
        Ok(())
    }

    /// Reads the response; how long the server keeps the connection, if it says so.
    async fn read(
        &self,
        connection: &mut ServerConnection,
        input: &mut Vec<u8>,
    ) -> Result<Option<u64>, ServerFailure> {
        let mut head = ResponseHead::default();
        let mut reader = HeadReader::default();
        loop {
            match reader.read(&mut head, input)? {
                HeadStatus::Final => break,
                HeadStatus::Interim => {
                    input.drain(..head.len());
                    continue;
                }
                HeadStatus::Partial => {}
            }
            if connection.read(make_room(input)).await.map_err(ServerFailure::Receive)? == 0 {
                return Err(ServerFailure::Closed);
            }
        }
        if head.status() == 101 {
            return Err(ServerFailure::Switched);
        }
        let mut download = Download::new(head.body(self.is_head), false);
        input.drain(..head.len());
        let mut n_read = 0;
        while download.take(input)?.1.is_none() {
            n_read += input.len();
            input.clear();
            let is_over = n_read > MOST_READ
                || connection.read(make_room(input)).await.map_err(ServerFailure::Receive)? == 0;
            if is_over {
                connection.spoil();
                break;
            }
        }
        if download.has_excess() || !head.keep_alive(self.is_head) {
            connection.spoil();
        }
        Ok(head.keep_alive_seconds())
    }
}
