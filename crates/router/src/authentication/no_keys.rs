//! Why no token can be verified at the moment.

use corral_auth::files::FileFault;

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoKeys {
    #[error("the file \"{path}\" cannot be used: {}", fault.in_full())]
    File { path: String, fault: FileFault },
    #[error("no keys have come from \"{0}\" yet")]
    Remote(String),
    #[error("the thread has ended")]
    Thread,
}

impl NoKeys {
    /// The status of a reply: a server may answer later, a file is wrong until it is corrected.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::File { .. } | Self::Thread => 500,
            Self::Remote(_) => 503,
        }
    }
}
