//! Everything that lies in shared memory: its layout, its views, and the two ends of a channel.
//!
//! Model-checked atomics cannot lie there, so `cfg(loom)` leaves this module out and checks what it is
//! built of.

pub(crate) mod bell;
pub(crate) mod files;
pub(crate) mod layout;
pub(crate) mod map;
pub(crate) mod port;
pub(crate) mod receiver;
pub(crate) mod region;
pub(crate) mod ring;
#[cfg(test)]
mod tests;
pub(crate) mod waker;
pub(crate) mod worker;

pub use bell::{Bell, WorkerBell};
pub use files::{Arrived, FileError, FileSender, file_sockets};
pub use layout::{ChannelShape, MAX_LANES, MAX_NOTE, MAX_REQUEST_PAYLOAD};
pub use map::MemoryError;
pub use port::{WorkerDescriptors, WorkerPort};
pub use receiver::LaneReceiver;
pub use waker::Sleeper;
pub use worker::{Unsent, WorkerEnd, WorkerSleep};
