//! A ring of frames with one producer and one consumer, in memory that both can write at any time.
//!
//! Positions count bytes since the ring was made, never wrap (2^64) and never go back; a position's place
//! in the ring is its low bits. Each side keeps its own position privately and only ever *reads* the other
//! side's from shared memory. What was read is checked against the private position before use, is used
//! from a private copy, and whatever does not fit is `Corrupt`: a peer cannot make us read or write outside the
//! ring, loop, or panic.

use crate::frame::{FRAME_UNIT, FrameHead, FrameKind, Lane, RequestId, RingDirection};
use crate::sleep::SleepFlag;
use crate::sync::{AtomicU64, Ordering};

/// The other side broke the layout's rules. It cannot be talked with any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// A position before ours, too far ahead of it, or not in whole units.
    #[error("the peer's ring position {theirs} does not fit ours, {ours}")]
    Position {
        /// As read.
        theirs: u64,
        /// Our own.
        ours: u64,
    },
    /// A frame longer than allowed, or than what was published.
    #[error("a frame of {len} bytes where at most {limit} can be")]
    Length {
        /// As read.
        len: u32,
        /// Bytes that the frame may have.
        limit: u64,
    },
    /// A kind that is unknown or goes the other way.
    #[error("a frame of kind {kind}")]
    Kind {
        /// As read.
        kind: u8,
    },
    /// Flags that do not exist.
    #[error("a frame with the flags {flags:#04x}")]
    Flags {
        /// As read.
        flags: u8,
    },
    /// A request from an event loop that the worker has no ring to.
    #[error("a frame of lane {lane} of {n_lanes}")]
    Lane {
        /// As read.
        lane: u16,
        /// How many there are.
        n_lanes: u16,
    },
}

/// A frame was not sent; nothing of it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The frame has no room now, but will when the other side has read.
    #[error("the ring is full")]
    Full,
    /// The frame will never have room.
    #[error("a frame of {len} bytes, more than the {max} of this ring")]
    TooLarge {
        /// Bytes of payload.
        len: usize,
        /// The most that one frame of this ring can have.
        max: usize,
    },
    /// The other side broke the rules.
    #[error("the ring cannot be used any longer")]
    Corrupt(#[from] Corrupt),
}

/// A cache line of its own, and its neighbour, which processors like to fetch along.
#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Padded<T>(pub(crate) T);

/// Written by the producer only.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ProducerWords {
    /// Everything before it is published.
    pub(crate) produced: AtomicU64,
    /// The producer sleeps until there is more room.
    pub(crate) wants_room: SleepFlag,
}

/// Words that the sides of a ring tell each other, each in a line of its own.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Cursors {
    pub(crate) producer: Padded<ProducerWords>,
    /// Everything before it may be overwritten. Written by the consumer only.
    pub(crate) consumed: Padded<AtomicU64>,
}

/// Where a ring lives: mapped memory, or cells that a model checker watches.
///
/// Copies do not wrap: `at + len` is at most `capacity`. Callers keep producer and consumer apart.
pub(crate) trait RingMemory {
    fn cursors(&self) -> &Cursors;
    /// A power of two.
    fn capacity(&self) -> usize;
    fn write(&self, at: usize, bytes: &[u8]);
    /// Appends `len` bytes to `out`.
    fn read(&self, at: usize, len: usize, out: &mut Vec<u8>);
    fn read_head(&self, at: usize) -> [u8; FRAME_UNIT];
}

/// Bytes that a frame with `len` bytes of payload takes in a ring.
pub(crate) const fn frame_size(len: usize) -> usize {
    FRAME_UNIT + len.next_multiple_of(FRAME_UNIT)
}

/// The writing side.
#[derive(Debug)]
pub(crate) struct Producer<M> {
    memory: M,
    max_payload: usize,
    /// Behind so many bytes of the data, the ring is begun anew when it is empty.
    home: usize,
    /// The value of `produced`, had the other side not written there.
    position: u64,
    /// The last checked value of `consumed`; the true one is the same or higher.
    consumed: u64,
}

impl<M: RingMemory> Producer<M> {
    /// The producer of a ring that is all zeros.
    pub(crate) fn new(memory: M, max_payload: usize) -> Self {
        debug_assert!(memory.capacity().is_power_of_two() && frame_size(max_payload) <= memory.capacity());
        let home = memory.capacity();
        Self { memory, max_payload, home, position: 0, consumed: 0 }
    }

    /// Begins anew behind so many bytes: what is little at a time stays in the same pages, and in the caches. All that
    /// may be pushed at a time, reserve included, fits into them.
    pub(crate) fn with_home(self, home: usize) -> Self {
        debug_assert!(frame_size(self.max_payload) <= home && home <= self.memory.capacity());
        Self { home, ..self }
    }

    pub(crate) fn cursors(&self) -> &Cursors {
        self.memory.cursors()
    }

    /// Bytes that are free now, frame heads included.
    pub(crate) fn free(&self) -> Result<usize, Corrupt> {
        let consumed = self.read_consumed()?;
        Ok(self.memory.capacity() - (self.position - consumed) as usize)
    }

    fn read_consumed(&self) -> Result<u64, Corrupt> {
        let consumed = self.cursors().consumed.0.load(Ordering::Acquire);
        let possible = self.consumed <= consumed && consumed <= self.position;
        if !possible || !consumed.is_multiple_of(FRAME_UNIT as u64) {
            return Err(Corrupt::Position { theirs: consumed, ours: self.position });
        }
        Ok(consumed)
    }

    /// False while `push` of a frame with `len` bytes of payload would say `Full`.
    pub(crate) fn is_worth_trying(&self, len: usize) -> bool {
        len > self.max_payload || self.free().map_or(true, |free| frame_size(len) <= free)
    }

    /// Whether a frame with `len` bytes of payload fits and leaves `reserve` bytes free.
    ///
    /// The other side's position is read only when its last known value does not answer.
    pub(crate) fn check_room(&mut self, len: usize, reserve: usize) -> Result<(), SendError> {
        if len > self.max_payload {
            return Err(SendError::TooLarge { len, max: self.max_payload });
        }
        let wanted = frame_size(len) + reserve;
        if wanted <= self.known_free() {
            return Ok(());
        }
        self.consumed = self.read_consumed()?;
        if wanted <= self.known_free() { Ok(()) } else { Err(SendError::Full) }
    }

    fn known_free(&self) -> usize {
        self.memory.capacity() - (self.position - self.consumed) as usize
    }

    /// Publishes a frame whose payload is `pieces` one after the other. The consumer is not woken.
    pub(crate) fn push(
        &mut self,
        head: FrameHead,
        pieces: &[&[u8]],
        reserve: usize,
    ) -> Result<(), SendError> {
        let len = pieces.iter().map(|piece| piece.len()).sum();
        self.check_room(len, reserve)?;
        self.go_home()?;
        let len = u32::try_from(len).expect("max_payload is below 4 GiB");
        let mask = self.memory.capacity() - 1;
        let mut at = self.position as usize & mask;
        self.memory.write(at, &FrameHead { len, ..head }.to_bytes());
        at = (at + FRAME_UNIT) & mask;
        for piece in pieces {
            self.write_wrapping(at, piece);
            at = (at + piece.len()) & mask;
        }
        self.position += frame_size(len as usize) as u64;
        // Release: the frame is there before the position says so.
        self.cursors().producer.0.produced.store(self.position, Ordering::Release);
        Ok(())
    }

    /// Goes on at the beginning of the data if the ring is empty and that is far away. Published with the next frame.
    fn go_home(&mut self) -> Result<(), Corrupt> {
        let at = self.position as usize & (self.memory.capacity() - 1);
        if at < self.home {
            return Ok(());
        }
        self.consumed = self.read_consumed()?;
        if self.consumed == self.position {
            let to_end = self.memory.capacity() - at;
            let len = u32::try_from(to_end - FRAME_UNIT).expect("rings are below 4 GiB");
            let skip = FrameHead { len, ..FrameHead::new(FrameKind::Skip, Lane(0), RequestId(0)) };
            self.memory.write(at, &skip.to_bytes());
            self.position += to_end as u64;
        }
        Ok(())
    }

    fn write_wrapping(&self, at: usize, bytes: &[u8]) {
        let to_end = self.memory.capacity() - at;
        if bytes.len() <= to_end {
            return self.memory.write(at, bytes);
        }
        let (before, after) = bytes.split_at(to_end);
        self.memory.write(at, before);
        self.memory.write(0, after);
    }
}

/// A frame whose head was taken and whose payload was not, or only in part.
#[derive(Debug)]
struct Open {
    head: FrameHead,
    /// Position of the first byte of payload that was not read.
    payload: u64,
    /// Bytes of it.
    remaining: usize,
    /// Position of the frame behind.
    next: u64,
}

/// The reading side.
#[derive(Debug)]
pub(crate) struct Consumer<M> {
    memory: M,
    max_payload: usize,
    direction: RingDirection,
    /// The value of `consumed`, had the other side not written there.
    position: u64,
    /// The last checked value of `produced`; the true one is the same or higher.
    produced: u64,
    open: Option<Open>,
}

impl<M: RingMemory> Consumer<M> {
    /// The consumer of a ring that is all zeros.
    pub(crate) fn new(memory: M, max_payload: usize, direction: RingDirection) -> Self {
        debug_assert!(memory.capacity().is_power_of_two() && frame_size(max_payload) <= memory.capacity());
        Self { memory, max_payload, direction, position: 0, produced: 0, open: None }
    }

    pub(crate) fn cursors(&self) -> &Cursors {
        self.memory.cursors()
    }

    /// Whether `peek` has something to say, be it that the ring is corrupt.
    pub(crate) fn has_frames(&self) -> bool {
        self.open.is_some()
            || self.produced != self.position
            || self.cursors().producer.0.produced.load(Ordering::Acquire) != self.position
    }

    /// The head of the next frame, the same one until its payload was read or dropped.
    pub(crate) fn peek(&mut self) -> Result<Option<FrameHead>, Corrupt> {
        if let Some(open) = &self.open {
            return Ok(Some(open.head));
        }
        loop {
            if self.produced == self.position && !self.look_for_more()? {
                return Ok(None);
            }
            let open = self.open_frame()?;
            let head = open.head;
            self.open = Some(open);
            if head.kind != FrameKind::Skip {
                return Ok(Some(head));
            }
            self.close();
        }
    }

    /// Reads the position of the producer; true if it is beyond ours.
    fn look_for_more(&mut self) -> Result<bool, Corrupt> {
        let produced = self.cursors().producer.0.produced.load(Ordering::Acquire);
        let ahead = produced.wrapping_sub(self.position);
        if ahead > self.memory.capacity() as u64 || !ahead.is_multiple_of(FRAME_UNIT as u64) {
            return Err(Corrupt::Position { theirs: produced, ours: self.position });
        }
        self.produced = produced;
        Ok(ahead != 0)
    }

    /// Copies and checks the head at our position, before which `produced` is by at least one unit.
    fn open_frame(&self) -> Result<Open, Corrupt> {
        let at = self.position as usize & (self.memory.capacity() - 1);
        let head = FrameHead::from_bytes(self.memory.read_head(at), self.direction)?;
        let payload = self.position + FRAME_UNIT as u64;
        let max = if head.kind == FrameKind::Skip { u64::MAX } else { self.max_payload as u64 };
        let limit = (self.produced - payload).min(max);
        if u64::from(head.len) > limit {
            return Err(Corrupt::Length { len: head.len, limit });
        }
        let remaining = head.len as usize;
        // Positions are whole units, so the padding behind the payload is published too.
        let next = self.position + frame_size(remaining) as u64;
        Ok(Open { head, payload, remaining, next })
    }

    /// Appends up to `n` bytes of the payload of the frame that `peek` gave to `out`. With its last
    /// byte the frame is gone and its room given back, so a frame without payload takes one call too.
    pub(crate) fn read(&mut self, n: usize, out: &mut Vec<u8>) -> usize {
        let Some(open) = &mut self.open else { return 0 };
        let n = n.min(open.remaining);
        let capacity = self.memory.capacity();
        let at = open.payload as usize & (capacity - 1);
        let to_end = capacity - at;
        if n <= to_end {
            self.memory.read(at, n, out);
        } else {
            self.memory.read(at, to_end, out);
            self.memory.read(0, n - to_end, out);
        }
        open.payload += n as u64;
        open.remaining -= n;
        if open.remaining == 0 {
            self.close();
        }
        n
    }

    /// Drops what is left of the frame that `peek` gave.
    pub(crate) fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        self.position = open.next;
        // Release: our reads are done before the producer may overwrite what was read.
        self.cursors().consumed.0.store(self.position, Ordering::Release);
    }

    /// The next frame, its payload in `payload` in place of what was there.
    pub(crate) fn recv(&mut self, payload: &mut Vec<u8>) -> Result<Option<FrameHead>, Corrupt> {
        payload.clear();
        let head = self.peek()?;
        if let Some(head) = head {
            self.read(head.len as usize, payload);
        }
        Ok(head)
    }
}
