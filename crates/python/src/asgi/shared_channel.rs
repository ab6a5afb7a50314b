//! The channel of a worker, as its requests and event loops share it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corral_worker::AsyncChannel;

/// The channel that requests share.
pub(super) type SharedChannel = Arc<Mutex<AsyncChannel>>;

/// No call into Python is made while it is held: that could come back to it.
pub(super) fn lock(channel: &SharedChannel) -> MutexGuard<'_, AsyncChannel> {
    channel.lock().unwrap_or_else(PoisonError::into_inner)
}
