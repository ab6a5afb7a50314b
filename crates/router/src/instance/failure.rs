//! Why an application gives no (complete) answer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use corral_channel::message::Malformed;
use corral_channel::{Lane, RequestId};
use corral_http::chunked::ChunkError;
use corral_ipc::message::{Exit, Refusal};

use super::mebibytes::Mebibytes;
use super::pool::verdict::{KillReason, WorkerExcess};
use crate::upstream::ServerFailure;

/// Why no (complete) answer comes.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum AppFailure {
    #[error("the worker {pid} ended ({}) while it ran the request{}", describe(.exit), describe_note(.note))]
    WorkerGone { pid: u32, exit: Exit, note: Vec<u8> },
    #[error("no worker could be started: {0}")]
    NoWorker(String),
    #[error("the application gave no response")]
    NoResponse,
    #[error("the client sends nothing more, and the application has had nothing for it")]
    ClientLeft,
    #[error("the response is malformed")]
    Malformed(#[source] Malformed),
    #[error("the response is badly framed")]
    Framing(#[from] FramingError),
    #[error("the response's status is {status}, with which none can end")]
    NotFinal { status: u16 },
    #[error(
        "the worker {pid} was ended after it ran the request for {:.1} s (limits.kill_after)",
        .elapsed.as_secs_f64()
    )]
    Killed { pid: u32, elapsed: Duration },
    #[error("the worker {pid} was ended as it used {} (limits.memory.hard)", Mebibytes(*.used))]
    Outgrown { pid: u32, used: u64 },
    #[error("too many requests wait for a worker (limits.queue)")]
    QueueFull,
    #[error("no worker was free for {} s (limits.queue_timeout)", .0.as_secs())]
    QueueTimedOut(Duration),
    #[error("the application was silent for {} s (limits.timeout)", .0.as_secs())]
    TimedOut(Duration),
    #[error("process {pid}")]
    Program {
        pid: u32,
        #[source]
        failure: Arc<ServerFailure>,
    },
    #[error("store the response")]
    Store(#[source] Arc<io::Error>),
    #[error("no descriptor is left for the file that it ends with")]
    NoDescriptor,
    #[error("no descriptor is left for the socket of the connection that the application has taken over")]
    NoSocket,
    #[error("the file that it ends with has become shorter")]
    FileCut,
}

/// Why the chunks that an application has made cannot be taken apart.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(crate) enum FramingError {
    #[error(transparent)]
    Chunk(ChunkError),
    #[error("its last chunk is missing")]
    Cut,
    #[error("it ends with a file")]
    File,
}

impl AppFailure {
    /// The status that the client gets.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Killed { .. } => 504,
            Self::Program { failure, .. } if failure.is_nonsense() => 502,
            _ => 503,
        }
    }

    /// The reason for which the request is refused, if no worker has had it.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::QueueFull => Some(Refusal::QueueFull),
            Self::QueueTimedOut(_) => Some(Refusal::QueueTimeout),
            Self::NoWorker(_) => Some(Refusal::NoWorker),
            _ => None,
        }
    }

    /// Whether a worker had the request.
    pub(super) fn is_of_run(&self) -> bool {
        !self.is_overload() && !matches!(self, Self::NoWorker(_))
    }

    /// Whether the application has too much to do, so that trying again later may help.
    pub(crate) fn is_overload(&self) -> bool {
        matches!(self, Self::QueueFull | Self::QueueTimedOut(_))
    }
}

impl KillReason {
    /// The failure of a request of the worker `pid`, if it is the one that the worker was to be killed for.
    pub(super) fn failure(&self, request: (Lane, RequestId), pid: u32) -> Option<AppFailure> {
        (self.request == Some(request)).then_some(match self.excess {
            WorkerExcess::Time(elapsed) => AppFailure::Killed { pid, elapsed },
            WorkerExcess::Memory(used) => AppFailure::Outgrown { pid, used },
        })
    }
}

fn describe(exit: &Exit) -> String {
    match exit {
        Exit::Code(code) => format!("code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    }
}

fn describe_note(note: &[u8]) -> String {
    match note {
        [] => String::new(),
        note => format!(" {}", String::from_utf8_lossy(note).escape_debug()),
    }
}
