//! The channel of a worker, as its requests and event loops share it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use corral_worker::Switchboard;

/// The channel that requests share.
pub(super) type SharedSwitchboard = Arc<Mutex<Switchboard>>;

/// No call into Python is made while it is held: that could come back to it.
pub(super) fn lock(switchboard: &SharedSwitchboard) -> MutexGuard<'_, Switchboard> {
    switchboard.lock().unwrap_or_else(PoisonError::into_inner)
}
