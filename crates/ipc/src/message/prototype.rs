//! What main and a prototype tell each other.

use corral_config::plan::AppSpec;
use serde::{Deserialize, Serialize};

use super::{Exit, WorkerId};

/// From main to a prototype, and through it to no one else.
#[derive(Debug, Serialize, Deserialize)]
#[expect(
    clippy::large_enum_variant,
    reason = "one message at a time is alive, and the first is the large one"
)]
pub enum ToPrototype {
    /// First message: load the application, then answer `Ready` or `Failed`.
    Start {
        /// What to load.
        spec: AppSpec,
        /// Event loops of the router: the channel has one lane for each.
        n_lanes: u16,
    },
    /// Fork a worker. Answered by `Forked` or `ForkFailed`.
    Fork {
        /// Its number.
        worker: WorkerId,
    },
    /// End a worker at once.
    Kill {
        /// Its number.
        worker: WorkerId,
    },
    /// End all workers and exit.
    Stop,
}

/// From a prototype to main.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromPrototype {
    /// The application is loaded. Carries the bell: its memory, then one eventfd for each lane.
    Ready,
    /// It could not be loaded; the prototype exits.
    Failed {
        /// What is wrong, where, and what to do.
        reason: String,
    },
    /// A worker runs. Carries its channel's memory, and its pidfd if there is one.
    Forked {
        /// Its number.
        worker: WorkerId,
        /// Its process id as the prototype sees it, which may have a namespace of its own.
        pid: u32,
    },
    /// A worker could not be forked.
    ForkFailed {
        /// Its number.
        worker: WorkerId,
        /// Why.
        reason: String,
    },
    /// A worker ended.
    Exited {
        /// Its number.
        worker: WorkerId,
        /// How.
        exit: Exit,
    },
}
