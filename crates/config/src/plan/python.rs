//! Options of a Python application.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The parts of a Python application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonSpec {
    /// At least one; the first is meant when none is named. A document without `targets` has one
    /// with an empty name.
    pub targets: Vec<PythonTarget>,
    /// A virtual environment, or where the standard library is.
    pub home: Option<PathBuf>,
    /// Searched for modules before everything else, in this order.
    pub path: Vec<PathBuf>,
    /// The interface of the callables; `None` means that it is detected.
    pub protocol: Option<PythonProtocol>,
    /// Requests that one process runs at the same time; event loops with ASGI.
    pub threads: NonZeroU32,
    /// Bytes of stack of each thread; `None` leaves it to the system.
    pub thread_stack_size: Option<NonZeroUsize>,
}

/// One entry point of a Python application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonTarget {
    /// Name under `targets`, empty for the only one.
    pub name: String,
    /// The module to import.
    pub module: String,
    /// The callable, by its name in the module.
    pub callable: String,
    /// The callable makes the application rather than being it.
    pub factory: bool,
    /// A prefix of the application's paths: a slash at its start, none at its end.
    pub prefix: Option<String>,
}

/// The interface between server and application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PythonProtocol {
    /// PEP 3333.
    Wsgi,
    /// ASGI 3.
    Asgi,
}
