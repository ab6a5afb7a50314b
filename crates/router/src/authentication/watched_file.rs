//! A file that clients are checked by, read again when it has changed.

use std::path::PathBuf;
use std::sync::Arc;

use corral_auth::files::{self, FileFault};
use parking_lot::Mutex;

use super::no_keys::NoKeys;
use crate::files::FileIdentity;

/// Reads what a file means.
type Parse<T> = dyn Fn(&[u8]) -> Result<T, FileFault> + Send + Sync;

/// The meaning of one file.
pub(crate) struct WatchedFile<T> {
    path: PathBuf,
    parse: Box<Parse<T>>,
    loaded: Mutex<Option<(FileIdentity, Arc<T>)>>,
}

impl<T: Send + Sync + 'static> WatchedFile<T> {
    pub(super) fn new(
        path: PathBuf,
        parse: impl Fn(&[u8]) -> Result<T, FileFault> + Send + Sync + 'static,
    ) -> Self {
        Self { path, parse: Box::new(parse), loaded: Mutex::new(None) }
    }

    /// The meaning of what is in it now. One system call while the file is the same. Cancel safe.
    ///
    /// # Errors
    ///
    /// When it cannot be used.
    pub(crate) async fn content(self: &Arc<Self>) -> Result<Arc<T>, NoKeys> {
        let identity = std::fs::metadata(&self.path).ok().map(|metadata| FileIdentity::of(&metadata));
        if let Some((known, content)) = &*self.loaded.lock()
            && Some(*known) == identity
        {
            return Ok(Arc::clone(content));
        }
        let file = Arc::clone(self);
        let loaded = tokio::task::spawn_blocking(move || file.load()).await.map_err(|_| NoKeys::Thread)?;
        loaded.map_err(|fault| NoKeys::File { path: self.path.display().to_string(), fault })
    }

    fn load(&self) -> Result<Arc<T>, FileFault> {
        let file = files::open(&self.path)?;
        let identity = FileIdentity::of(&file.metadata().map_err(FileFault::Read)?);
        let content = Arc::new((self.parse)(&files::content(&file)?)?);
        let is_same = file.metadata().is_ok_and(|now| FileIdentity::of(&now) == identity);
        *self.loaded.lock() = (is_same && identity.is_settled()).then(|| (identity, Arc::clone(&content)));
        Ok(content)
    }
}
