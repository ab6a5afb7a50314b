//! Idle connections to one server, kept by one event loop for the next requests.

use std::time::{Duration, Instant};

use corral_config::upstream::KeepAlive;

use crate::upstream::server_connection::ServerConnection;

/// A server may close a connection just when a request is on its way. Where the request could not be sent again,
/// only connections are used that have been idle for less than this.
pub(crate) const FRESH: Duration = Duration::from_secs(1);

/// The idle connections, those that were used last at the end.
#[derive(Default)]
pub(crate) struct IdleConnections {
    idle: Vec<IdleConnection>,
}

struct IdleConnection {
    connection: ServerConnection,
    since: Instant,
    until: Instant,
}

/// Which connections a request can be sent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// Any that seems to be alive: if it is not, the request is sent again.
    Any,
    /// One that the server has hardly had time to close.
    Fresh,
}

impl IdleConnections {
    /// The connection that was used last, if it is of use.
    pub(crate) fn take(&mut self, freshness: Freshness, now: Instant) -> Option<ServerConnection> {
        while let Some(mut idle) = self.idle.pop() {
            let limit =
                if freshness == Freshness::Fresh { (idle.since + FRESH).min(idle.until) } else { idle.until };
            if now < limit && idle.connection.is_quiet() {
                return Some(idle.connection);
            }
            if idle.until > now && freshness == Freshness::Fresh && idle.connection.is_quiet() {
                // Still of use for others.
                self.idle.push(idle);
                return None;
            }
        }
        None
    }

    /// Keeps a connection, as long as rules and server permit, and the latter is in step. True when it is kept.
    pub(crate) fn put(
        &mut self,
        connection: ServerConnection,
        rules: &KeepAlive,
        server_seconds: Option<u64>,
        now: Instant,
    ) -> bool {
        // The server's clock started earlier than ours.
        let server_limit = server_seconds.map(|seconds| Duration::from_secs(seconds.saturating_sub(1)));
        let limit = server_limit.map_or(rules.idle_timeout, |limit| limit.min(rules.idle_timeout));
        let used_up = rules.requests > 0 && connection.n_requests() >= rules.requests;
        if rules.connections == 0 || used_up || limit.is_zero() || connection.is_spoiled() {
            return false;
        }
        if self.idle.len() >= rules.connections as usize {
            self.idle.remove(0);
        }
        self.idle.push(IdleConnection { connection, since: now, until: now + limit });
        true
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.idle.len()
    }

    /// Drops what is too old or closed. True when something is left.
    pub(crate) fn sweep(&mut self, now: Instant) -> bool {
        self.idle.retain_mut(|idle| now < idle.until && idle.connection.is_quiet());
        !self.idle.is_empty()
    }
}
