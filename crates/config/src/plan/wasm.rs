//! Options of a WebAssembly application.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a WebAssembly application consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WasmSpec {
    /// The component, which exports `wasi:http/incoming-handler`.
    pub component: PathBuf,
    /// Folders that it finds at the same paths, and may do anything in.
    pub filesystem: Vec<String>,
}
