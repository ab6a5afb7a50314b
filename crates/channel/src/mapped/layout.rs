//! Where everything is, computed from the number of lanes alone by each side for itself.
//!
//! The tables of the crate's documentation are checked here at compile time.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::mapped::region::SharedType;
use crate::ring::{Cursors, Padded, frame_size};
use crate::sleep::SleepFlag;
use crate::slot::{N_SLOTS, SlotWord};

pub(crate) const PAGE: usize = 4096;

/// Event loops at most; their eventfds have to fit in one message (SCM_MAX_FD is 253).
pub const MAX_LANES: u16 = 252;

/// Bytes of the note, see `WorkerEnd::set_note`.
pub const MAX_NOTE: usize = 255;

const KIB: usize = 1024;
/// A worker that has a few requests with large bodies ahead need not sleep and be woken between any two.
const REQUEST_RING: usize = 1024 * KIB;

/// Where an empty request ring is begun anew: what workers without large bodies use of it, and have in memory.
pub(crate) const REQUEST_HOME: usize = 256 * KIB;

/// Bytes of payload that one frame to a worker can have.
pub const MAX_REQUEST_PAYLOAD: usize = 128 * KIB;

/// Room that only Cancel, Left, Credit and Quit may use, so that they find room when requests and bodies have
/// filled the ring.
pub(crate) const CONTROL_RESERVE: usize = 64 * KIB;

/// The numbers that a channel's memory depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelShape {
    /// Event loops of the router, 1 to [`MAX_LANES`].
    pub n_lanes: u16,
}

impl ChannelShape {
    pub(crate) fn is_valid(self) -> bool {
        (1..=MAX_LANES).contains(&self.n_lanes)
    }

    /// Bytes of a lane's ring: 256 KiB shared by all, rounded down to a power of two, but 32 to 128 KiB each.
    #[must_use]
    pub fn lane_capacity(self) -> usize {
        let share = 256 * KIB / usize::from(self.n_lanes.max(1));
        let power_of_two = 1 << share.ilog2();
        power_of_two.clamp(32 * KIB, 128 * KIB)
    }

    /// Bytes of payload that one frame from a worker can have: half a lane, less the frame's head.
    #[must_use]
    pub fn max_response_payload(self) -> usize {
        self.lane_capacity() / 2 - frame_size(0)
    }

    pub(crate) fn request_capacity(self) -> usize {
        REQUEST_RING
    }

    pub(crate) fn lane_cursors(self, lane: usize) -> usize {
        size_of::<WorkerHeader>() + lane * size_of::<Cursors>()
    }

    pub(crate) fn request_data(self) -> usize {
        self.lane_cursors(usize::from(self.n_lanes)).next_multiple_of(PAGE)
    }

    pub(crate) fn lane_data(self, lane: usize) -> usize {
        self.request_data() + REQUEST_RING + lane * self.lane_capacity()
    }

    /// Bytes of a worker's memory.
    pub(crate) fn worker_size(self) -> usize {
        self.lane_data(usize::from(self.n_lanes))
    }

    /// Bytes of a bell's memory.
    pub(crate) fn bell_size(self) -> usize {
        self.bell_flag(usize::from(self.n_lanes)).next_multiple_of(PAGE)
    }

    pub(crate) fn bell_flag(self, lane: usize) -> usize {
        size_of::<Padded<MemoryIdentity>>() + lane * size_of::<Padded<SleepFlag>>()
    }
}

/// First in each memory: which memory this is.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct MemoryIdentity {
    magic: AtomicU64,
    version: AtomicU32,
    n_lanes: AtomicU32,
}

/// The beginning of a worker's memory.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct MemoryStart {
    identity: MemoryIdentity,
    /// Files of this worker that the router has taken, counted without end.
    pub(crate) files_taken: AtomicU32,
}

/// The two kinds of memory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MemoryKind {
    Worker,
    Bell,
}

const VERSION: u32 = 4;

impl MemoryKind {
    fn number(self) -> u64 {
        match self {
            Self::Worker => u64::from_ne_bytes(*b"corralWK"),
            Self::Bell => u64::from_ne_bytes(*b"corralBL"),
        }
    }
}

impl MemoryIdentity {
    pub(crate) fn write(&self, magic: MemoryKind, shape: ChannelShape) {
        self.magic.store(magic.number(), Ordering::Relaxed);
        self.version.store(VERSION, Ordering::Relaxed);
        self.n_lanes.store(u32::from(shape.n_lanes), Ordering::Relaxed);
    }

    pub(crate) fn is(&self, magic: MemoryKind, shape: ChannelShape) -> bool {
        self.magic.load(Ordering::Relaxed) == magic.number()
            && self.version.load(Ordering::Relaxed) == VERSION
            && self.n_lanes.load(Ordering::Relaxed) == u32::from(shape.n_lanes)
    }
}

/// The worker's present doing, for log lines; torn when it is read while it is written, which does no harm.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Note {
    len: AtomicU8,
    bytes: [AtomicU8; MAX_NOTE],
}

impl Note {
    pub(crate) fn set(&self, note: &[u8]) {
        let len = note.len().min(MAX_NOTE);
        for (to, from) in self.bytes.iter().zip(note) {
            to.store(*from, Ordering::Relaxed);
        }
        self.len.store(len as u8, Ordering::Relaxed);
    }

    pub(crate) fn to_vec(&self) -> Vec<u8> {
        let len = usize::from(self.len.load(Ordering::Relaxed));
        self.bytes.iter().take(len).map(|byte| byte.load(Ordering::Relaxed)).collect()
    }
}

/// The fixed part of a worker's memory.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct WorkerHeader {
    pub(crate) first: Padded<MemoryStart>,
    /// The worker sleeps, for whatever reason. The word that it sleeps on.
    pub(crate) sleeping: Padded<SleepFlag>,
    pub(crate) slots: [SlotWord; N_SLOTS],
    pub(crate) note: Note,
    pub(crate) requests: Cursors,
}

// SAFETY: `repr(C)`, atomics alone.
unsafe impl SharedType for WorkerHeader {}
// SAFETY: `repr(C)`, atomics alone.
unsafe impl SharedType for Cursors {}
// SAFETY: `repr(C)`, atomics alone.
unsafe impl SharedType for Padded<MemoryIdentity> {}
// SAFETY: `repr(C)` around a `repr(transparent)` atomic.
unsafe impl SharedType for Padded<SleepFlag> {}

const _: () = {
    // Whatever fits into an empty request ring fits when that is begun anew, too.
    assert!(frame_size(MAX_REQUEST_PAYLOAD) + CONTROL_RESERVE <= REQUEST_HOME);
    assert!(offset_of!(MemoryIdentity, version) == 8 && offset_of!(MemoryIdentity, n_lanes) == 12);
    assert!(offset_of!(MemoryStart, identity) == 0 && offset_of!(MemoryStart, files_taken) == 16);
    assert!(offset_of!(WorkerHeader, sleeping) == 128);
    assert!(offset_of!(WorkerHeader, slots) == 256);
    assert!(offset_of!(WorkerHeader, note) == 512);
    assert!(offset_of!(WorkerHeader, requests) == 768);
    assert!(size_of::<WorkerHeader>() == 1024);
    assert!(size_of::<Cursors>() == 256 && offset_of!(Cursors, consumed) == 128);
    assert!(size_of::<Padded<SleepFlag>>() == 128);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_share_a_quarter_mebibyte_within_limits() {
        for (n_lanes, kib) in [(1, 128), (2, 128), (3, 64), (4, 64), (5, 32), (8, 32), (64, 32), (252, 32)] {
            assert_eq!(ChannelShape { n_lanes }.lane_capacity(), kib * KIB, "{n_lanes} lanes");
        }
    }

    #[test]
    fn parts_follow_each_other_without_overlap() {
        for n_lanes in [1, 2, 12, 13, 252] {
            let shape = ChannelShape { n_lanes };
            let last = usize::from(n_lanes) - 1;
            assert!(shape.lane_cursors(last) + size_of::<Cursors>() <= shape.request_data());
            assert_eq!(shape.request_data() % PAGE, 0);
            assert_eq!(shape.lane_data(0), shape.request_data() + shape.request_capacity());
            assert_eq!(shape.worker_size(), shape.lane_data(last) + shape.lane_capacity());
            assert!(shape.bell_flag(last) + 128 <= shape.bell_size());
            assert!(crate::MAX_TRACE <= shape.max_response_payload());
        }
    }

    #[test]
    fn notes_are_cut_to_their_place() {
        let note = Note { len: AtomicU8::new(0), bytes: [const { AtomicU8::new(0) }; MAX_NOTE] };
        assert_eq!(note.to_vec(), b"");
        note.set(b"/srv/index.php");
        assert_eq!(note.to_vec(), b"/srv/index.php");
        note.set(&[b'x'; 300]);
        assert_eq!(note.to_vec(), [b'x'; 255]);
        note.set(b"");
        assert_eq!(note.to_vec(), b"");
    }
}
