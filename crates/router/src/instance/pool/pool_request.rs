//! A request as a pool knows it.

use std::time::Instant;

use corral_channel::{Lane, RequestId};

use crate::storage::buffers::Rest;

/// A request as it waits for a worker: encoded, and addressed to the event loop that asked.
#[derive(Debug)]
pub(crate) struct PoolRequest {
    /// The event loop that gets the response.
    pub(crate) lane: Lane,
    /// Unique among the requests of its lane.
    pub(crate) id: RequestId,
    /// The encoded head.
    pub(crate) payload: Vec<u8>,
    /// The piece of the body that travels with it.
    pub(crate) inline: Rest,
    pub(crate) arrived: Instant,
}
