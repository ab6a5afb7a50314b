//! Where a connection goes when its request has ended in order: to the next one, if there is no one who waits for a process.

use std::io::IoSlice;

use corral_cgi::fastcgi;

use crate::clock::deadline::Deadlines;
use crate::upstream::{Line, LoopServer, LoopServers, Seat};

/// Keeps one connection to a server of this event loop.
pub(super) struct Keeper<'k> {
    pub(super) seat: Seat,
    pub(super) server: &'k LoopServer,
    pub(super) servers: &'k LoopServers,
    pub(super) clock: &'k Deadlines,
    /// The server leaves it open.
    pub(super) is_open: bool,
}

impl Keeper<'_> {
    /// Announces the next request, whatever that will be: whether the process has read that says whether it is back from the
    /// last one, whose end it may have told early.
    pub(super) fn keep(self, mut line: Line) {
        if !self.is_open || self.seat.is_wanted() {
            return;
        }
        let mut begin = Vec::new();
        fastcgi::append_begin(true, &mut begin);
        let is_announced = line.try_write(&[IoSlice::new(&begin)]).is_ok_and(|n| n == begin.len());
        let Self { seat, server, servers, clock, .. } = self;
        if is_announced && server.leave_seat(seat, line, clock.now()) {
            servers.idle.notify_one();
        }
    }
}
