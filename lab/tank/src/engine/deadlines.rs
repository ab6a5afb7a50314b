//! Deadlines of the requests that were taken by connections to one server. All wait equally long, so they end in the
//! order in which they were taken, and a queue does.

use std::collections::VecDeque;

use crate::clock::Nanos;

#[derive(Debug, Default)]
pub(super) struct Deadlines {
    entries: VecDeque<Deadline>,
    /// The place of the first entry.
    first: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deadline {
    pub(super) moment: Nanos,
    pub(super) connection: usize,
    pub(super) place: u64,
    is_over: bool,
}

impl Deadlines {
    /// Adds one, and returns its place.
    pub(super) fn push(&mut self, moment: Nanos, connection: usize) -> u64 {
        let place = self.first + self.entries.len() as u64;
        self.entries.push_back(Deadline { moment, connection, place, is_over: false });
        place
    }

    /// The request at a place has ended.
    pub(super) fn end(&mut self, place: u64) {
        if let Some(at) = place.checked_sub(self.first)
            && let Some(entry) = self.entries.get_mut(at as usize)
        {
            entry.is_over = true;
        }
        while self.entries.front().is_some_and(|entry| entry.is_over) {
            self.entries.pop_front();
            self.first += 1;
        }
    }

    /// The first deadline of a request that has not ended.
    pub(super) fn first(&self) -> Option<Deadline> {
        self.entries.front().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_open_one_is_next() {
        let mut deadlines = Deadlines::default();
        let places: Vec<_> = (0..3).map(|number| deadlines.push(10 + number, 7)).collect();
        let first = |deadlines: &Deadlines| deadlines.first().map(|deadline| deadline.moment);
        deadlines.end(places[1]);
        assert_eq!(first(&deadlines), Some(10));
        deadlines.end(places[0]);
        assert_eq!(first(&deadlines), Some(12));
        deadlines.end(places[0]);
        let last = deadlines.push(20, 7);
        deadlines.end(last);
        assert_eq!(first(&deadlines), Some(12));
        deadlines.end(places[2]);
        assert_eq!(first(&deadlines), None);
    }
}
