//! Messages between two main processes while one takes over from the other. The two can be of different versions:
//! variants may be added at the end, and none may change.

use corral_config::address::ListenAddress;
use serde::{Deserialize, Serialize};

use super::StartPolicy;
use crate::link::Incoming;
use crate::reason;

/// From the process that has been serving to the one that is to.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToSuccessor {
    /// The control API's. Carries the listening socket.
    Control {
        /// As given at the start.
        address: ListenAddress,
    },
    /// One of the configuration in force. Carries the listening sockets.
    Listener {
        /// As configured.
        address: ListenAddress,
    },
    /// Everything was sent: start, and say when the stored configuration is in force.
    Begin {
        /// The parts that have to work afterwards: those that work now.
        start_policy: StartPolicy,
    },
    /// A listener's that a service manager has made. Carries the listening sockets.
    Given {
        /// Where they listen.
        address: ListenAddress,
    },
    /// The control API's, if a service manager has made it; in place of `Control`. Carries the listening socket.
    GivenControl {
        /// Where it listens.
        address: ListenAddress,
    },
    /// Commands run that no listener reaches: none of the successor's own may before the words below. Comes before
    /// `Begin`.
    HasBackground,
    /// Commands that run all the time have ended.
    ServicesEnded,
    /// The runs of those that have a schedule have ended, too.
    RunsEnded,
    /// The answer to `AskSums`, and comes again when there is more: the counters of this process and its routers.
    Sums {
        /// As [`crate::sums`] writes them.
        sums: Vec<u8>,
    },
    /// The last word of a process that ends while others before it still finish requests. Carries its links to them:
    /// they talk to the successor from now on.
    Earlier {
        /// The counters of this process and its routers, without those of the others.
        sums: Vec<u8>,
        /// The state of the others, in the order of their links.
        processes: Vec<EarlierProcess>,
    },
}

/// A main process that serves no more, as the one that took over from it knows it.
#[derive(Debug, Serialize, Deserialize)]
pub struct EarlierProcess {
    /// The counters that it told last, as [`crate::sums`] writes them.
    pub sums: Vec<u8>,
    /// Commands run there all the time.
    pub has_services: bool,
    /// Commands run there by a schedule, or all the time.
    pub has_runs: bool,
}

impl ToSuccessor {
    /// Whether it comes with sockets.
    #[must_use]
    pub fn is_about_sockets(&self) -> bool {
        match self {
            Self::Control { .. } | Self::Listener { .. } | Self::Given { .. } | Self::GivenControl { .. } => {
                true
            }
            Self::Begin { .. }
            | Self::HasBackground
            | Self::ServicesEnded
            | Self::RunsEnded
            | Self::Sums { .. }
            | Self::Earlier { .. } => false,
        }
    }
}

/// From the process that takes over.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromSuccessor {
    /// Clients are served, sockets' files and the pid file have a new owner.
    Serving,
    /// The successor cannot serve, and ends.
    Failed {
        /// Why.
        reason: String,
    },
    /// Tell the counters that go on in this process. Answered by `Sums`. Only for a process that has said in the
    /// environment that it knows the word.
    AskSums,
}

impl Incoming for FromSuccessor {
    /// A reason that was cut to its length.
    const LONGEST: usize = 2 * reason::LONGEST;
}
