//! Messages between main and a prototype.

use std::num::NonZeroU32;

use corral_config::plan::AppSpec;
use corral_sys::descriptor_kind::DescriptorKind;
use serde::{Deserialize, Serialize};

use super::{Exit, WorkerId};
use crate::link::{Incoming, MAX_INLINE};

/// From main to a prototype, and through it to no one else.
#[derive(Debug, Serialize, Deserialize)]
#[expect(
    clippy::large_enum_variant,
    reason = "one message at a time is alive, and the first is the large one"
)]
pub enum ToPrototype {
    /// First message: load the application, then answer `Ready` or `Failed`. May come with a folder for the sockets of
    /// programs, outside of their root.
    Start {
        /// The application to load.
        spec: AppSpec,
        /// Event loops of the router: the channel has one lane for each.
        n_lanes: u16,
    },
    /// Fork a worker, or start the program. Answered by `Forked`, `Started` or `ForkFailed`.
    Fork {
        /// The worker's number.
        worker: WorkerId,
    },
    /// End a worker at once.
    Kill {
        /// The worker's number.
        worker: WorkerId,
    },
    /// Let a program end that gets no requests any more.
    Retire {
        /// The worker's number.
        worker: WorkerId,
    },
    /// End all workers and exit.
    Stop,
}

/// Where a program that serves HTTP is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Endpoint {
    /// At the Unix socket whose file is the descriptor that comes along (`O_PATH`).
    Socket,
    /// At this port of 127.0.0.1.
    Port(u16),
    /// At a port that the program has chosen by itself, so that two of it cannot run beside each other.
    Strayed {
        /// The port's number.
        port: u16,
        /// The program listens at `::1`, not at 127.0.0.1.
        v6: bool,
    },
}

/// From a prototype to main.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromPrototype {
    /// The application is loaded. Carries the bell: its memory, then one eventfd for each lane; nothing where
    /// workers are programs that serve HTTP.
    Ready,
    /// The application could not be loaded; the prototype exits.
    Failed {
        /// The problem, its place, and the remedy.
        reason: String,
    },
    /// A worker runs. Carries its channel's memory, the push of its event loop's bell if it says its `concurrency`, the
    /// socket of its `files` if it sends any, and its pidfd if there is one.
    Forked {
        /// The worker's number.
        worker: WorkerId,
        /// The worker's process id as the prototype sees it, which may have a namespace of its own.
        pid: u32,
        /// Requests that it runs at once, in an event loop, if it has found out only now.
        concurrency: Option<NonZeroU32>,
        /// Whether its responses may end with files.
        files: bool,
    },
    /// A program runs and is ready for requests. Carries its socket if that is where it is reached, and its pidfd
    /// if there is one.
    Started {
        /// The worker's number.
        worker: WorkerId,
        /// As in `Forked`.
        pid: u32,
        /// Where it is reached.
        endpoint: Endpoint,
    },
    /// A worker could not be forked.
    ForkFailed {
        /// The worker's number.
        worker: WorkerId,
        /// Why.
        reason: String,
    },
    /// A worker ended.
    Exited {
        /// The worker's number.
        worker: WorkerId,
        /// How.
        exit: Exit,
    },
    /// The program that prints the length of a queue has ended: the number, or why there is none.
    QueueLength {
        /// In jobs.
        length: Result<u64, String>,
    },
    /// A program runs, and is not ready yet: should the prototype die, main ends it. Carries its pidfd if there is one.
    /// Comes again for another process in place of one that has ended.
    Begun {
        /// The worker's number.
        worker: WorkerId,
        /// As in `Forked`.
        pid: u32,
    },
}

impl Incoming for FromPrototype {
    /// Reasons are cut to less.
    const LONGEST: usize = MAX_INLINE;

    fn comes_with(&self, kinds: &[DescriptorKind]) -> bool {
        match self {
            Self::Ready => is_bell(kinds),
            Self::Forked { concurrency, files, .. } => {
                let push = concurrency.map(|_| DescriptorKind::Stream);
                let files = files.then_some(DescriptorKind::Packets);
                let access: Vec<_> =
                    [Some(DescriptorKind::Memory), push, files].into_iter().flatten().collect();
                is_process(kinds.strip_prefix(&access[..]))
            }
            Self::Started { endpoint: Endpoint::Socket, .. } => {
                is_process(kinds.strip_prefix(&[DescriptorKind::SocketFile]))
            }
            Self::Started { endpoint: Endpoint::Port(_) | Endpoint::Strayed { .. }, .. }
            | Self::Begun { .. } => is_process(Some(kinds)),
            Self::Failed { .. }
            | Self::ForkFailed { .. }
            | Self::Exited { .. }
            | Self::QueueLength { .. } => kinds.is_empty(),
        }
    }
}

/// Programs have none.
fn is_bell(kinds: &[DescriptorKind]) -> bool {
    match kinds {
        [] => true,
        [memory, lanes @ ..] => {
            *memory == DescriptorKind::Memory && lanes.iter().all(|lane| *lane == DescriptorKind::Event)
        }
    }
}

/// True if a process descriptor comes last, or nothing because the system has none.
fn is_process(rest: Option<&[DescriptorKind]>) -> bool {
    matches!(rest, Some([] | [DescriptorKind::Process]))
}
