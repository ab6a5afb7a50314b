//! Connections of one thread to one server, and the requests that wait for one.

use std::collections::VecDeque;

use super::deadlines::Deadlines;
use crate::clock::Nanos;
use crate::connection::{Connection, Context};
use crate::outcome::Job;

pub(super) struct Pool {
    /// Connections with room; the one that was used last is used next.
    pub(super) free: Vec<usize>,
    /// Requests that are due, in their order.
    pub(super) waiting: VecDeque<Job>,
    pub(super) deadlines: Deadlines,
    n_connections: usize,
    limit: usize,
}

impl Pool {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            free: Vec::new(),
            waiting: VecDeque::new(),
            deadlines: Deadlines::default(),
            n_connections: 0,
            limit,
        }
    }

    pub(super) fn may_grow(&self) -> bool {
        self.n_connections < self.limit
    }

    pub(super) fn opened(&mut self) {
        self.n_connections += 1;
    }

    pub(super) fn closed(&mut self, key: usize, connection: &Connection) {
        self.n_connections -= 1;
        if connection.is_listed {
            self.free.retain(|free| *free != key);
        }
    }

    /// Lists a connection as free, or not, after it may have changed.
    pub(super) fn list(&mut self, key: usize, connection: &mut Connection, cx: &Context) {
        let has_room = connection.has_room(cx);
        match (connection.is_listed, has_room) {
            (false, true) => self.free.push(key),
            // Nearly always the last one, as that is the one that got a request.
            (true, false) if self.free.last() == Some(&key) => drop(self.free.pop()),
            (true, false) => self.free.retain(|free| *free != key),
            _ => {}
        }
        connection.is_listed = has_room;
    }

    /// The moment at which the first request is given up.
    pub(super) fn next_deadline(&self, timeout: Nanos) -> Option<Nanos> {
        let waiting = self.waiting.front().map(|job| job.due + timeout);
        self.deadlines.first().map(|deadline| deadline.moment).into_iter().chain(waiting).min()
    }

    /// A request that has waited for its whole time.
    pub(super) fn pop_expired(&mut self, now: Nanos, timeout: Nanos) -> Option<Job> {
        self.waiting.pop_front_if(|job| job.due + timeout <= now)
    }
}
