//! Keys of tokens, from a file or a server.

use std::sync::Arc;
use std::time::Duration;

use corral_auth::files::{self, FileFault};
use corral_auth::jwt::Keys;
use corral_config::authentication::KeySource;
use parking_lot::Mutex;

pub(crate) use super::no_keys::NoKeys;
use super::remote_keys::RemoteKeys;
use crate::files::FileIdentity;

/// Where the keys of one place come from.
pub(crate) enum KeyStore {
    File(Arc<KeyFile>),
    /// And the least time between two fetches.
    Remote(Arc<RemoteKeys>, Duration),
}

/// The keys of one file.
pub(crate) struct KeyFile {
    source: KeySource,
    loaded: Mutex<Option<(FileIdentity, Arc<Keys>)>>,
}

impl KeyStore {
    /// The keys as far as they are known. Cancel safe.
    ///
    /// # Errors
    ///
    /// When the file cannot be used, or the server has never answered.
    pub(crate) async fn keys(&self) -> Result<Arc<Keys>, NoKeys> {
        match self {
            Self::File(file) => file.keys().await,
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

impl KeyFile {
    pub(super) fn new(source: KeySource) -> Self {
        Self { source, loaded: Mutex::new(None) }
    }

    /// One system call while the file is the same.
    async fn keys(self: &Arc<Self>) -> Result<Arc<Keys>, NoKeys> {
        let identity = self.path().and_then(|path| std::fs::metadata(path).ok());
        let identity = identity.map(|metadata| FileIdentity::of(&metadata));
        if let Some((known, keys)) = &*self.loaded.lock()
            && Some(*known) == identity
        {
            return Ok(Arc::clone(keys));
        }
        let file = Arc::clone(self);
        let loaded = tokio::task::spawn_blocking(move || file.load()).await.map_err(|_| NoKeys::Thread)?;
        let path = || self.path().map(|path| path.display().to_string()).unwrap_or_default();
        loaded.map_err(|fault| NoKeys::File { path: path(), fault })
    }

    fn path(&self) -> Option<&std::path::Path> {
        match &self.source {
            KeySource::Secret(path) | KeySource::Pem(path) | KeySource::Set(path) => Some(path),
            KeySource::Url { .. } => None,
        }
    }

    fn load(&self) -> Result<Arc<Keys>, FileFault> {
        let file = files::open(self.path().unwrap_or(std::path::Path::new("")))?;
        let identity = FileIdentity::of(&file.metadata().map_err(FileFault::Read)?);
        let keys = Arc::new(files::keys(&self.source, &files::content(&file)?)?);
        let is_same = file.metadata().is_ok_and(|now| FileIdentity::of(&now) == identity);
        *self.loaded.lock() = (is_same && identity.is_settled()).then(|| (identity, Arc::clone(&keys)));
        Ok(keys)
    }
}
