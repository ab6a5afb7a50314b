//! The controller, a router or the reader: one process at a time, started again when it dies.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use serde::Serialize;

use crate::decide::backoff::Backoff;
use crate::launch::LaunchError;
use crate::peer::Peer;

/// A role that a process of this executable has, and the process.
pub(crate) struct Role {
    pub(crate) name: &'static str,
    pub(crate) peer: Option<Peer>,
    /// Whether the process has said that it works.
    pub(crate) is_ready: bool,
    pub(crate) backoff: Backoff,
}

impl Role {
    pub(crate) fn new(name: &'static str, now: Instant) -> Self {
        Self { name, peer: None, is_ready: false, backoff: Backoff::eager(now) }
    }

    /// A process was started for it.
    pub(crate) fn started(&mut self, peer: Peer, now: Instant) {
        self.is_ready = false;
        self.backoff.started(now);
        self.peer = Some(peer);
    }

    /// The process of this role could not be started.
    pub(crate) fn not_started(&mut self, error: LaunchError, now: Instant) {
        self.backoff.failed(now);
        tracing::error!(target: "alert", "start the {}: {:#}", self.name, anyhow::Error::new(error));
    }

    /// The process of this role has ended.
    pub(crate) fn ended(&mut self, now: Instant) {
        self.peer = None;
        self.is_ready = false;
        self.backoff.failed(now);
    }

    /// When another process is started for it, if none runs.
    pub(crate) fn restart_at(&self) -> Option<Instant> {
        self.backoff.restart_at().filter(|_| self.peer.is_none())
    }

    /// Tells its process, if one runs.
    pub(crate) fn send<T: Serialize>(&mut self, message: &T) {
        self.send_with(message, &[]);
    }

    /// The same, with descriptors.
    pub(crate) fn send_with<T: Serialize>(&mut self, message: &T, fds: &[BorrowedFd<'_>]) {
        if let Some(peer) = &mut self.peer {
            peer.send(message, fds);
        }
    }

    /// Kills a process that does what none of ours does.
    pub(crate) fn give_up(&mut self, what: &str) {
        if let Some(peer) = &mut self.peer {
            peer.give_up(what);
        }
    }
}
