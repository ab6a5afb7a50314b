//! Shared-memory rings between the router and its workers: wake-ups, messages, take-back.

mod frame;
#[cfg(not(loom))]
pub mod fuzz;
#[cfg(all(test, loom))]
mod loom_models;
#[cfg(not(loom))]
mod mapped;
pub mod message;
mod ring;
mod sleep;
mod slot;
mod sync;

pub use frame::{FRAME_UNIT, Flags, FrameHead, Kind, Lane, RequestId};
#[cfg(not(loom))]
pub use mapped::*;
pub use ring::{Corrupt, SendError};
pub use slot::{N_SLOTS, Slot};

/// Bytes of response body that a request may have on the way without further credit.
pub const INITIAL_CREDIT: u32 = 256 * 1024;

/// Bytes of request body that may be on the way without the worker's acknowledgement.
pub const BODY_WINDOW: u32 = 64 * 1024;

/// Bytes of request body that travel with the head; all of a longer one travels in Body frames.
pub const MAX_INLINE_BODY: usize = 64 * 1024;
