//! Owner of a request that was queued: one word for which router and worker compete.
//!
//! A worker may hold a request that it has not begun. It begins it, or the router takes it back; each
//! does so by a compare-and-swap from `Queued`, so exactly one succeeds. The word carries the ticket of
//! the submission too: a frame that was taken back stays in the ring, and must not start whatever was
//! queued in the same slot after it.

use crate::sync::{AtomicU32, Ordering};

/// Requests that one worker can hold at a time.
pub const N_SLOTS: usize = 64;

const STATE_BITS: u32 = 2;
const SLOT_BITS: u32 = 6;
const _: () = assert!(N_SLOTS == 1 << SLOT_BITS);

/// One of the places for requests that a worker has. Chosen by the router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestSlot(u8);

impl RequestSlot {
    /// The slot of that number, if it is below [`N_SLOTS`].
    #[must_use]
    pub fn new(index: usize) -> Option<Self> {
        u8::try_from(index).ok().filter(|_| index < N_SLOTS).map(Self)
    }

    /// The slot's number.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Where a request stands. Zero is a slot that was never used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotState {
    Queued = 1,
    Started = 2,
    TakenBack = 3,
}

/// Numbers the submissions to one worker, so that a slot's word is that of one submission only. It comes
/// again after 2^26 of them, long after the ring has forgotten the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubmissionTicket(u32);

impl SubmissionTicket {
    pub(crate) const FIRST: Self = Self(0);
    const LAST: u32 = (1 << (u32::BITS - SLOT_BITS)) - 1;

    pub(crate) fn next(self) -> Self {
        Self((self.0 + 1) & Self::LAST)
    }

    fn word(self, state: SlotState) -> u32 {
        self.0 << STATE_BITS | state as u32
    }
}

/// The `aux` of a Request frame: the slot below, the ticket above.
pub(crate) fn pack(slot: RequestSlot, ticket: SubmissionTicket) -> u32 {
    ticket.0 << SLOT_BITS | u32::from(slot.0)
}

/// The reverse of [`pack`]. Every number is a slot and a ticket.
pub(crate) fn unpack(aux: u32) -> (RequestSlot, SubmissionTicket) {
    let slot = aux & ((1 << SLOT_BITS) - 1);
    (RequestSlot(slot as u8), SubmissionTicket(aux >> SLOT_BITS))
}

/// The word in shared memory. All zeros (free) is its first state.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct SlotWord(AtomicU32);

impl SlotWord {
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Router, before the frame is published (which orders this store too).
    pub(crate) fn queue(&self, ticket: SubmissionTicket) {
        self.0.store(ticket.word(SlotState::Queued), Ordering::Relaxed);
    }

    /// Worker: false when the request was taken back.
    pub(crate) fn start(&self, ticket: SubmissionTicket) -> bool {
        self.leave_queue(ticket, SlotState::Started)
    }

    /// Router: false when the worker has started it.
    pub(crate) fn take_back(&self, ticket: SubmissionTicket) -> bool {
        self.leave_queue(ticket, SlotState::TakenBack)
    }

    pub(crate) fn is(&self, ticket: SubmissionTicket, state: SlotState) -> bool {
        self.0.load(Ordering::Relaxed) == ticket.word(state)
    }

    /// Nothing but the word itself is handed over (the frame travels in the ring), so no order is needed.
    fn leave_queue(&self, ticket: SubmissionTicket, to: SlotState) -> bool {
        let (from, to) = (ticket.word(SlotState::Queued), ticket.word(to));
        self.0.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word() -> SlotWord {
        SlotWord(AtomicU32::new(0))
    }

    #[test]
    fn one_side_gets_the_request() {
        let (slot, ticket) = (word(), SubmissionTicket(9));
        assert!(!slot.start(ticket) && !slot.take_back(ticket));
        slot.queue(ticket);
        assert!(slot.start(ticket) && slot.is(ticket, SlotState::Started));
        assert!(!slot.take_back(ticket) && !slot.start(ticket));
        slot.queue(ticket);
        assert!(slot.take_back(ticket) && slot.is(ticket, SlotState::TakenBack));
        assert!(!slot.start(ticket));
    }

    #[test]
    fn a_frame_that_was_taken_back_does_not_start_the_next_one() {
        let (slot, old) = (word(), SubmissionTicket::FIRST);
        slot.queue(old);
        assert!(slot.take_back(old));
        let new = old.next();
        slot.queue(new);
        assert!(!slot.start(old));
        assert!(slot.start(new));
    }

    #[test]
    fn slot_and_ticket_share_a_number() {
        for (slot, ticket) in
            [(0, 0), (63, 0), (0, SubmissionTicket::LAST), (63, SubmissionTicket::LAST), (5, 77)]
        {
            let (slot, ticket) = (RequestSlot::new(slot).unwrap(), SubmissionTicket(ticket));
            assert_eq!(unpack(pack(slot, ticket)), (slot, ticket));
        }
        assert_eq!(SubmissionTicket(SubmissionTicket::LAST).next(), SubmissionTicket::FIRST);
        assert_eq!(RequestSlot::new(N_SLOTS), None);
        assert_eq!(RequestSlot::new(usize::MAX), None);
    }
}
