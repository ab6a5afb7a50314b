//! Why an application gives no (complete) answer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use corral_ipc::message::Exit;

/// Why no (complete) answer comes.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Failure {
    #[error("the worker {pid} ended ({}) while it ran the request{}", describe(.exit), describe_note(.note))]
    WorkerGone { pid: u32, exit: Exit, note: Vec<u8> },
    #[error("no worker could be started: {0}")]
    NoWorker(String),
    #[error("the application gave no response")]
    NoResponse,
    #[error("the application was silent for {} s (limits.timeout)", .0.as_secs())]
    TimedOut(Duration),
    #[error("store the response: {0}")]
    Store(Arc<io::Error>),
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
