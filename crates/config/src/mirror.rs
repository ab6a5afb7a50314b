//! Copies of requests for other servers, as the router sends them (beyond Unit).

use std::time::Duration;

use crate::gateway::Servers;

/// The copies of an action's requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// JSON pointer of the option. Names it in the log and in `/status`.
    pub place: String,
    /// The servers, which speak HTTP/1; each of these gets a copy.
    pub to: Vec<Servers>,
    /// Copies have the request's body.
    pub body: bool,
    /// The share of requests that are copied, in millionths.
    pub sample: u32,
    /// How long a copy may take, from the connection to the end of its response.
    pub timeout: Duration,
}

/// All requests, in the unit of [`Mirror::sample`].
pub const SAMPLE_ALL: u32 = 1_000_000;
