//! The interface of a pool to its way to a worker.

use corral_channel::{RequestSlot, SendError};

use super::pool_request::PoolRequest;
use super::verdict::KillReason;

/// The sending half of one worker's channel.
pub(crate) trait PoolPort {
    /// Hands a request over.
    fn submit(&mut self, slot: RequestSlot, request: &PoolRequest) -> Result<(), SendError>;
    /// Takes a request back that was not started; false when it was.
    fn take_back(&self, slot: RequestSlot, request: &PoolRequest) -> bool;
    /// Whether the worker has begun to run the request.
    fn is_started(&self, slot: RequestSlot, request: &PoolRequest) -> bool;
    /// Tells the worker to leave once it has finished what it runs.
    fn quit(&mut self);
    /// Whether the worker waits for the router to say something.
    fn is_waiting(&self) -> bool;
    /// The worker's note about what it runs.
    fn note(&self) -> Vec<u8>;
    /// The worker is to be killed.
    fn condemn(&self, _condemned: KillReason) {}
}
