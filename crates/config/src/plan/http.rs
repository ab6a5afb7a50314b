//! Applications that serve HTTP themselves: a program, the socket that it gets, and when it is ready.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Options of an application of `type: "http"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpSpec {
    /// A path, or a name that is looked for in `PATH`.
    pub executable: PathBuf,
    /// Behind its own name.
    pub arguments: Vec<String>,
    /// How it learns where to serve.
    pub socket: ProgramSocket,
    /// When it is given requests.
    pub ready: Ready,
    /// Longest time from its start to that moment.
    pub ready_timeout: Duration,
    /// Most requests at once in one process.
    pub concurrency: NonZeroU32,
}

/// How a program learns where to serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProgramSocket {
    /// A socket that listens already is its descriptor 3 (`LISTEN_FDS`).
    Inherited,
    /// It makes a Unix socket at the path in this variable.
    Unix {
        /// The variable's name.
        variable: String,
    },
    /// It listens on the port in this variable.
    Port {
        /// The variable's name.
        variable: String,
    },
}

/// When a program counts as ready for requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ready {
    /// It accepts connections.
    Connect,
    /// It answers a request for this path with a status below 400.
    Path(String),
    /// It says so (`sd_notify`).
    Notify,
}

impl HttpSpec {
    /// The executable, if it is not looked for.
    #[must_use]
    pub fn executable_path(&self) -> Option<&Path> {
        self.executable.as_os_str().as_encoded_bytes().contains(&b'/').then_some(&*self.executable)
    }
}
