//! Shared-memory rings between the router and its workers: wake-ups, messages, take-back.
//!
//! The prototype makes a [`WorkerBell`] for its application and a [`WorkerEnd`] for each worker that it
//! forks; the router maps them as a [`Bell`], a [`WorkerPort`] (submission, shared by its event loops)
//! and one [`LaneReceiver`] for each event loop. Which process starts which, and how descriptors
//! travel, is for others. What the frames mean is in [`FrameKind`] and [`Flags`], what is in them in
//! [`message`].
//!
//! # Promises
//! - **No system call for a peer that is awake.** Publishing is a copy, a store, a fence and a load of
//!   a flag. Publishing ([`WorkerPort::submit`], [`WorkerEnd::send`]) and waking ([`WorkerPort::wake`],
//!   [`WorkerEnd::ring`]) are separate, so that a batch pays for one wake-up at most.
//! - **No wake-up is lost**, as long as each side does its part. A sleeper announces its sleep, looks
//!   again at everything that could end it, and sleeps then; a publisher looks at the flag
//!   afterwards. An event loop calls [`Bell::announce_sleep`] for all its bells, then
//!   [`LaneReceiver::has_frames`] for all its lanes, then epoll; after draining a lane
//!   [`LaneReceiver::wake_producer`]. A worker killed between taking a flag and ringing takes that ring
//!   with it: a loop that wakes for any reason has to look at all its lanes, and has to be woken when a
//!   worker dies.
//! - **No byte of the other side is trusted.** It can write anything anywhere in the memory at any
//!   time. Layout and positions are kept privately; what is read is copied once, checked, then used;
//!   what does not fit is [`Corrupt`]. The memory cannot be shrunk. A hostile worker can at worst send
//!   nonsense that is well-formed, and silence the bell of its own application.
//! - **Nothing blocks the router**: a full ring is an error ([`SendError::Full`]), for the worker a
//!   reason to wait.
//!
//! # Memory of a worker, version 4
//! Numbers are in the machine's byte order, offsets and sizes in bytes. Each 32- and 64-bit word is
//! aligned and accessed atomically. Unused bytes are zero. `n` is the number of lanes, 1 to 252.
//!
//! | offset | size | written by | |
//! | --- | --- | --- | --- |
//! | 0 | 8 | prototype | `corralWK` |
//! | 8 | 4 | prototype | version, 4 |
//! | 12 | 4 | prototype | `n` |
//! | 16 | 4 | router | files that it has taken |
//! | 128 | 4 | both | 1 while the worker sleeps or is about to (futex); 2 in an event loop, woken through its bell |
//! | 256 | 64 × 4 | both | slots: ticket × 4 + 1 queued, 2 started, 3 taken back; fresh: 0 |
//! | 512 | 1 | worker | length of the note |
//! | 513 | 255 | worker | note |
//! | 768 | 256 | both | cursors of the request ring |
//! | 1024 | n × 256 | both | cursors of each lane |
//! | D = 1024 + n × 256, rounded up to 4096 | 1048576 | router | data of the request ring |
//! | D + 1048576 | n × C | worker | data of each lane |
//!
//! C is 262144 / n rounded down to a power of two, at least 32768 and at most 131072.
//!
//! Cursors of a ring, producer's and consumer's words 128 bytes apart so that neither side's stores
//! take the other's cache lines:
//!
//! | offset | size | written by | |
//! | --- | --- | --- | --- |
//! | 0 | 8 | producer | position up to which frames are published |
//! | 8 | 4 | producer | lanes: 1 while the worker waits for room here |
//! | 128 | 8 | consumer | position up to which frames may be overwritten |
//!
//! A position counts bytes from the beginning of the ring's life, is a multiple of 16, never goes back,
//! and does not wrap in the life of a machine; its place in the data is its remainder by the ring's
//! size. The distance of the two positions is at most that size.
//!
//! Frames follow each other without gaps, each padded to a multiple of 16. A head never wraps around
//! the end of the data; a payload may. A request ring that is empty behind its first 262144 bytes goes on at its
//! beginning, behind a [`FrameKind::Skip`] frame, so that it takes no more memory than is needed:
//!
//! | offset | size | |
//! | --- | --- | --- |
//! | 0 | 4 | bytes of payload: at most 131072 in the request ring (more in Skip), C / 2 - 16 in a lane |
//! | 4 | 1 | [`FrameKind`] |
//! | 5 | 1 | [`Flags`]: 1 end, 2 done, 4 last, 8 file |
//! | 6 | 2 | lane (in a lane: ignored) |
//! | 8 | 4 | request |
//! | 12 | 4 | `aux`: Request: ticket × 64 + slot, else as [`FrameKind`] says |
//! | 16 | | payload: encoded heads as in [`message`], bytes of a body, or text |
//!
//! # Memory of a bell, version 4
//! | offset | size | written by | |
//! | --- | --- | --- | --- |
//! | 0 | 8 | prototype | `corralBL` |
//! | 8 | 4 | prototype | version, 4 |
//! | 12 | 4 | prototype | `n` |
//! | 128 + lane × 128 | 4 | both | 1 while the lane's event loop sleeps or is about to |
//!
//! The side that changes that 1 to 0 adds one to the lane's eventfd. The eventfd is never read; it is
//! watched edge-triggered.
//!
//! # Files
//! A worker may have a socket for files (`SOCK_SEQPACKET`): each datagram is a byte of no meaning with one open file.
//! The first one has the number 0, the next one 1, and so on. A file is sent before the frame that names its number,
//! and each is named once. [`MAX_FILES`] at most are sent and not yet taken, which the worker sees from the router's
//! count; what else it wants to send goes through the ring. The router takes regular files alone, whose reading never
//! blocks (`corral_sys::sendable`), looks at each before it keeps it, and never lets an event loop close another
//! (`corral_sys::deferred_close`). In place of a file there may be a stream socket of this machine, which a
//! [`FrameKind::Hijacked`] frame names. The socket for files, the eventfds of a bell and the push of a worker's own are
//! looked at in the same way.
//!
//! # Ordering
//! - A producer writes frames, then stores its position with Release; a consumer loads it with Acquire,
//!   then reads the frames. The same goes the other way for the consumer's position and the reuse of
//!   the room.
//! - A flag is stored, then a sequentially consistent fence, then the positions are looked at. A
//!   position is stored, then a sequentially consistent fence, then the flag is looked at, and changed
//!   from 1 to 0 by compare-and-swap by the waker.
//! - A slot is stored as queued before its frame is published; it leaves that state by compare-and-swap
//!   only.
//!
//! # Checking it
//! - `cargo test -p corral-channel`; `cargo bench -p corral-channel` for what it costs.
//! - `RUSTFLAGS="--cfg loom" cargo test -p corral-channel --release --lib loom` explores the protocols
//!   (`loom_models`).
//! - `MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p corral-channel --lib`: rings, ends
//!   and decoders on the heap, without system calls. (The tests in `tests/` need a kernel.)
//! - [`fuzz`] has the entries of the fuzz targets.

mod frame;
#[cfg(not(loom))]
pub mod fuzz;
#[cfg(all(test, loom))]
mod loom_models;
#[cfg(not(loom))]
mod mapped;
pub mod message;
mod opcode;
mod ring;
mod sleep;
mod slot;
mod sync;

pub use frame::{FRAME_UNIT, Flags, FrameHead, FrameKind, Lane, RequestId};
#[cfg(not(loom))]
pub use mapped::*;
pub use opcode::Opcode;
pub use ring::{Corrupt, SendError};
pub use slot::{N_SLOTS, RequestSlot};

/// Bytes of response body that a request may have on the way without further credit.
pub const INITIAL_CREDIT: u32 = 256 * 1024;

/// Bytes of request body that may be on the way without the worker's acknowledgement.
pub const BODY_WINDOW: u32 = 64 * 1024;

/// Bytes of request body that travel with the head; all of a longer one travels in Body frames.
pub const MAX_INLINE_BODY: usize = 64 * 1024;

/// Bytes of text that say where a request is ([`FrameKind::Trace`]): the most that one frame can have of it.
pub const MAX_TRACE: usize = 4 * 1024;

/// Files of one worker that may be on their way: sent, and not yet taken by an event loop.
pub const MAX_FILES: u32 = 64;

/// How long property tests look: not long where each step is interpreted.
#[cfg(all(test, not(loom)))]
fn few_cases() -> proptest::test_runner::Config {
    let cases = if cfg!(miri) { 4 } else { 256 };
    proptest::test_runner::Config { cases, failure_persistence: None, ..Default::default() }
}
