//! Where a connection goes when its request has ended in order: to the next one.

use super::outgoing::announce;
use crate::clock::deadline::Deadlines;
use crate::upstream::{Kept, Line, LoopServer, LoopServers, Presence, Seat};

/// Keeps one connection to a server of this event loop.
pub(super) struct Keeper<'k> {
    pub(super) seat: Seat,
    pub(super) server: &'k LoopServer,
    pub(super) servers: &'k LoopServers,
    pub(super) clock: &'k Deadlines,
}

impl Keeper<'_> {
    /// Announces the next request, whatever that will be, if that is what says whether the process is back from the last one.
    pub(super) fn keep(self, mut line: Line) {
        let Self { seat, server, servers, clock } = self;
        let presence = seat.presence(&line);
        // Nothing comes of it if there is no room.
        if presence == Presence::Unknown && announce(&mut line).is_err() {
            return;
        }
        if server.leave_seat(seat, Kept { line, presence }, clock.now()) {
            servers.idle.notify_one();
        }
    }
}
