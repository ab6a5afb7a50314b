//! The controller, a router or the reader: one process at a time, started again when it dies.

use std::time::Instant;

use crate::backoff::Backoff;
use crate::peer::Peer;

/// What a process of this executable is for, and the process.
pub(crate) struct Role {
    pub(crate) name: &'static str,
    pub(crate) peer: Option<Peer>,
    /// It has said that it works.
    pub(crate) is_ready: bool,
    pub(crate) backoff: Backoff,
}

impl Role {
    pub(crate) fn new(name: &'static str, now: Instant) -> Self {
        Self { name, peer: None, is_ready: false, backoff: Backoff::eager(now) }
    }
}
