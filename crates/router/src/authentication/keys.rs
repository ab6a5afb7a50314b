//! Keys of tokens, from a file or a server.

use std::sync::Arc;
use std::time::Duration;

use corral_auth::jwt::Keys;

pub(crate) use super::no_keys::NoKeys;
use super::remote_keys::RemoteKeys;
use super::watched_file::WatchedFile;

/// Where the keys of one place come from.
pub(crate) enum KeyStore {
    File(Arc<WatchedFile<Keys>>),
    /// And the least time between two fetches.
    Remote(Arc<RemoteKeys>, Duration),
}

impl KeyStore {
    /// The keys as far as they are known. Cancel safe.
    ///
    /// # Errors
    ///
    /// When the file cannot be used, or the server has never answered.
    pub(crate) async fn keys(&self) -> Result<Arc<Keys>, NoKeys> {
        match self {
            Self::File(file) => file.content().await,
            Self::Remote(remote, interval) => remote.keys(*interval).await,
        }
    }

    /// Other keys than these, after a token has named one that is not among them.
    pub(crate) async fn newer(&self, keys: &Arc<Keys>) -> Option<Arc<Keys>> {
        match self {
            Self::File(_) => None,
            Self::Remote(remote, interval) => remote.newer(keys, *interval).await,
        }
    }
}
