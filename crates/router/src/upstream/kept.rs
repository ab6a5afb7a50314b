//! Connections that an event loop keeps to a server for further requests: taken, left, and counted.

use std::time::Instant;

use crate::upstream::group::LoopServer;
use crate::upstream::idle::Freshness;
use crate::upstream::server_connection::ServerConnection;

impl LoopServer {
    /// The connection that was used last, if one is of use.
    pub(crate) fn take_kept(&self, freshness: Freshness, now: Instant) -> Option<ServerConnection> {
        let kept = self.pool.borrow_mut().take(freshness, now);
        self.note_kept();
        kept
    }

    /// Keeps a connection, for as many seconds as the server says if it does. True when it is kept.
    pub(crate) fn keep(
        &self,
        connection: ServerConnection,
        server_seconds: Option<u64>,
        now: Instant,
    ) -> bool {
        let is_kept =
            self.pool.borrow_mut().put(connection, &self.shared.options.keepalive, server_seconds, now);
        self.note_kept();
        is_kept
    }

    /// Counts the connections that there are.
    pub(super) fn note_kept(&self) {
        self.count_kept((self.pool.borrow().len() + self.h2_connections.len()) as u64);
    }

    /// The counter is one of the server, which others may write to behind this one.
    fn count_kept(&self, n: u64) {
        let before = self.n_kept.replace(n);
        let kept = &self.figures().kept;
        match n.checked_sub(before) {
            Some(more) => kept.add(more),
            None => kept.subtract(before - n),
        }
    }
}

impl Drop for LoopServer {
    fn drop(&mut self) {
        self.count_kept(0);
    }
}
