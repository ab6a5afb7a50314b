//! Passwords of one file: read anew when it has changed, hashed by threads that serve no connections, and remembered
//! while they are right.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use corral_auth::credentials::UserPass;
use corral_auth::files::{self, FileFault};
use corral_auth::passwords::Passwords;
use parking_lot::Mutex;

pub(crate) use super::hash_queue::HashQueueFull;
use super::hash_queue::QUEUE;
use super::password_checks::PasswordChecks;
use super::secret_cache::SecretCache;
use crate::files::FileIdentity;

/// The users of one file.
pub(crate) struct PasswordFile {
    path: PathBuf,
    loaded: Mutex<Option<Arc<LoadedUsers>>>,
    checks: PasswordChecks,
}

/// The file in one state.
struct LoadedUsers {
    identity: FileIdentity,
    passwords: Passwords,
    /// Passwords that were right.
    good: Mutex<SecretCache<()>>,
}

/// Why a password was not checked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PasswordCheckError {
    /// No client is let pass then.
    #[error(transparent)]
    File(#[from] FileFault),
    #[error("too many passwords wait to be checked")]
    Full(HashQueueFull),
    #[error("the thread has ended")]
    Thread,
}

impl PasswordFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, loaded: Mutex::new(None), checks: PasswordChecks::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the password was right before, and the file is still the same. One system call.
    pub(crate) fn remembers(&self, sent: &UserPass) -> bool {
        let Some(loaded) = self.loaded.lock().clone() else { return false };
        let Ok(metadata) = std::fs::metadata(&self.path) else { return false };
        loaded.identity == FileIdentity::of(&metadata) && loaded.knows(sent)
    }

    /// Whether the password is right. Waits for a thread that hashes it, or for another request with the same password.
    /// Cancel safe: a check that runs goes on alone.
    ///
    /// # Errors
    ///
    /// When the file cannot be used, or too many wait already.
    pub(crate) async fn check(
        self: &Arc<Self>,
        client: Option<IpAddr>,
        sent: UserPass,
    ) -> Result<bool, PasswordCheckError> {
        let sent = Arc::new(sent);
        self.checks.run([&*sent.user, &sent.password], || self.hash(client, Arc::clone(&sent))).await
    }

    async fn hash(
        self: &Arc<Self>,
        client: Option<IpAddr>,
        sent: Arc<UserPass>,
    ) -> Result<bool, PasswordCheckError> {
        let queued = QUEUE.enter(client).map_err(PasswordCheckError::Full)?;
        let permit = QUEUE.threads.acquire().await.map_err(|_| PasswordCheckError::Thread)?;
        let file = Arc::clone(self);
        let work = move || {
            let _held = (queued, permit);
            file.check_now(&sent)
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| PasswordCheckError::Thread)?
    }

    fn check_now(&self, sent: &UserPass) -> Result<bool, PasswordCheckError> {
        let loaded = self.load()?;
        // Another request of the client may have been first.
        if loaded.knows(sent) {
            return Ok(true);
        }
        let is_right = loaded.passwords.check(&sent.user, &sent.password);
        if is_right {
            let mut good = loaded.good.lock();
            let digest = good.digest([&*sent.user, &sent.password]);
            good.insert(digest, ());
        }
        Ok(is_right)
    }

    /// The file as it is now.
    fn load(&self) -> Result<Arc<LoadedUsers>, FileFault> {
        let file = files::open(&self.path)?;
        let identity = FileIdentity::of(&file.metadata().map_err(FileFault::Read)?);
        if let Some(loaded) = &*self.loaded.lock()
            && loaded.identity == identity
        {
            return Ok(Arc::clone(loaded));
        }
        let passwords = Passwords::parse(&files::content(&file)?)?;
        let loaded = Arc::new(LoadedUsers {
            identity,
            passwords,
            good: Mutex::new(SecretCache::new(MOST_REMEMBERED)),
        });
        // A file that was written to while it was read is used once, for this request.
        let is_same = file.metadata().is_ok_and(|now| FileIdentity::of(&now) == identity);
        *self.loaded.lock() = (is_same && identity.is_settled()).then(|| Arc::clone(&loaded));
        Ok(loaded)
    }
}

impl LoadedUsers {
    fn knows(&self, sent: &UserPass) -> bool {
        let good = self.good.lock();
        good.get(&good.digest([&*sent.user, &sent.password])).is_some()
    }
}

/// Right passwords of one file that are remembered.
const MOST_REMEMBERED: usize = 4096;
