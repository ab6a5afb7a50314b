//! Figures of applications and servers while they serve: the queues in front of them, and how long they take.

use serde::{Deserialize, Serialize};

use super::by_place;
use super::durations::DurationFigures;
use super::traffic::{Refusal, add};

/// Why requests of an application are given up before a process has had them.
pub const QUEUE_REFUSALS: [Refusal; 3] = [Refusal::QueueFull, Refusal::QueueTimeout, Refusal::NoWorker];

/// Requests of one application that wait for a process, or have waited.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitingFigures {
    /// Requests that wait now.
    pub waiting: u32,
    /// How long those that are over have waited; one that was handed over at once, for no time.
    pub durations: DurationFigures,
    /// Requests that no process has had, by [`QUEUE_REFUSALS`].
    #[serde(deserialize_with = "by_place::array")]
    pub refused: [u64; QUEUE_REFUSALS.len()],
}

impl WaitingFigures {
    /// Adds the counts of another router, whose queue is its own.
    pub(super) fn count(&mut self, other: &Self) {
        self.durations.count(&other.durations);
        add(&mut self.refused, &other.refused);
    }

    /// The figures that go on counting when the router has ended.
    pub(super) fn ended(&self) -> Self {
        Self { waiting: 0, ..self.clone() }
    }
}

/// How long a server takes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerTimes {
    /// To make a connection, with TLS if that is spoken.
    pub connect: DurationFigures,
    /// From the request to the head of the response.
    pub response: DurationFigures,
}

impl ServerTimes {
    pub(super) fn count(&mut self, other: &Self) {
        self.connect.count(&other.connect);
        self.response.count(&other.response);
    }
}

/// The processes of a server each of which takes one request at a time, and whose number is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerProcesses {
    /// All of them.
    pub most: u32,
    /// Processes that have a request, or are about to get one.
    pub busy: u32,
    /// Requests that wait for one.
    pub waiting: u32,
}
