//! Options of a WebAssembly application.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The parts of a WebAssembly application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WasmSpec {
    /// The component, which exports `wasi:http/incoming-handler`.
    pub component: PathBuf,
    /// Folders that it finds at the same paths, and may do anything in.
    pub filesystem: Vec<String>,
}
