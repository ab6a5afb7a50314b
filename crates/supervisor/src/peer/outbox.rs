//! Messages to a child that it has not read yet. There is only so much room: a child that reads nothing must not have
//! main keep everything.

use std::collections::VecDeque;

use corral_ipc::link::Packet;

/// How much a child may leave unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutboxLimit {
    /// For what a prototype is told of its workers, each of which is a number.
    Small,
    /// For configurations and figures, and all workers of all applications.
    Large,
}

impl OutboxLimit {
    fn bytes(self) -> usize {
        match self {
            Self::Small => 4 << 20,
            Self::Large => 768 << 20,
        }
    }
}

/// Most messages, however short they are.
const MOST: usize = 1 << 17;

/// Messages in their order.
#[derive(Debug)]
pub(crate) struct Outbox {
    packets: VecDeque<Packet>,
    cost: usize,
    n_descriptors: usize,
    room: OutboxLimit,
}

/// No room is left for another message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Outbox {
    pub(crate) fn new(room: OutboxLimit) -> Self {
        Self { packets: VecDeque::new(), cost: 0, n_descriptors: 0, room }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(crate) fn first(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// Descriptors of all messages.
    pub(crate) fn n_descriptors(&self) -> usize {
        self.n_descriptors
    }

    /// Adds a message. The first one may be as long as it likes.
    pub(crate) fn push(&mut self, packet: Packet) -> Result<(), Full> {
        let cost = self.cost + packet.cost();
        let is_full = cost > self.room.bytes() || self.packets.len() >= MOST;
        if is_full && !self.is_empty() {
            return Err(Full);
        }
        self.cost = cost;
        self.n_descriptors += packet.n_descriptors();
        self.packets.push_back(packet);
        Ok(())
    }

    /// Takes the first one out.
    pub(crate) fn pop(&mut self) {
        if let Some(packet) = self.packets.pop_front() {
            self.cost -= packet.cost();
            self.n_descriptors -= packet.n_descriptors();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        (self.cost, self.n_descriptors) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd as _, BorrowedFd};

    use corral_ipc::link::Link;
    use corral_ipc::message::{ToPrototype, WorkerId};

    use super::*;

    fn packet() -> Packet {
        Packet::new(&ToPrototype::Kill { worker: WorkerId(7) }, &[]).unwrap()
    }

    #[test]
    fn there_is_room_for_many_messages_and_an_end_of_it() {
        let mut outbox = Outbox::new(OutboxLimit::Small);
        let n_pushed = (0..1_000_000).take_while(|_| outbox.push(packet()).is_ok()).count();
        assert!((20_000..100_000).contains(&n_pushed), "{n_pushed}");
        outbox.pop();
        assert_eq!(outbox.push(packet()), Ok(()));
        assert_eq!(outbox.push(packet()), Err(Full));
        outbox.clear();
        assert!(outbox.is_empty() && outbox.first().is_none());
        assert_eq!(outbox.push(packet()), Ok(()));
    }

    #[test]
    fn descriptors_are_counted_while_they_wait() {
        let mut outbox = Outbox::new(OutboxLimit::Large);
        let (one, other) = Link::pair().unwrap();
        let with = |fds: &[BorrowedFd<'_>]| Packet::new(&ToPrototype::Stop, fds).unwrap();
        outbox.push(with(&[one.as_fd(), other.as_fd()])).unwrap();
        outbox.push(packet()).unwrap();
        outbox.push(with(&[one.as_fd()])).unwrap();
        assert_eq!(outbox.n_descriptors(), 3);
        outbox.pop();
        assert_eq!(outbox.n_descriptors(), 1);
        outbox.clear();
        assert_eq!(outbox.n_descriptors(), 0);
    }

    #[test]
    fn there_is_room_for_long_messages_and_not_for_as_much_in_short_ones() {
        let mut outbox = Outbox::new(OutboxLimit::Large);
        let n_pushed = (0..1_000_000).take_while(|_| outbox.push(packet()).is_ok()).count();
        assert_eq!(n_pushed, MOST);
    }

    #[test]
    fn a_message_that_is_alone_has_room() {
        let mut outbox = Outbox::new(OutboxLimit::Small);
        let long = Packet::new(&"x".repeat(5 << 20), &[]).unwrap();
        assert_eq!(outbox.push(long), Ok(()));
        assert_eq!(outbox.push(packet()), Err(Full));
        outbox.pop();
        assert_eq!(outbox.push(packet()), Ok(()));
    }
}
