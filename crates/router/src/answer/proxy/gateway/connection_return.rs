//! Where a connection goes when its request has ended in order: to the next one.

use super::request_sender::announce;
use crate::clock::deadline::Deadlines;
use crate::upstream::{
    KeptConnection, LoopServer, LoopServers, ProcessPresence, ProcessSlot, ServerConnection,
};

/// Keeps one connection to a server of this event loop.
pub(super) struct ConnectionReturn<'k> {
    pub(super) slot: ProcessSlot,
    pub(super) server: &'k LoopServer,
    pub(super) servers: &'k LoopServers,
    pub(super) clock: &'k Deadlines,
}

impl ConnectionReturn<'_> {
    /// Announces the next request, whatever that will be, if that is what says whether the process is back from the
    /// last one.
    pub(super) fn keep(self, mut connection: ServerConnection) {
        let Self { slot, server, servers, clock } = self;
        let presence = slot.presence(&connection);
        // Nothing comes of it if there is no room.
        if presence == ProcessPresence::Unknown && announce(&mut connection).is_err() {
            return;
        }
        if server.leave_slot(slot, KeptConnection { connection, presence }, clock.now()) {
            servers.idle.notify_one();
        }
    }
}
