//! How long a permission lasts: until the session ends that it comes from, or the tokens are void that it was given by.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::dashboard::sessions::SessionHandle;

/// A permission to ask, and to go on reading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Permission {
    session: Option<SessionHandle>,
    tokens: TokenLife,
}

/// Whether tokens, and all that they have permitted, hold. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenLife {
    is_revoked: Arc<AtomicBool>,
}

impl Permission {
    pub(crate) fn new(session: Option<SessionHandle>, tokens: TokenLife) -> Self {
        Self { session, tokens }
    }

    pub(crate) fn is_alive(&self, now: Instant) -> bool {
        !self.tokens.is_revoked() && self.session.as_ref().is_none_or(|session| session.is_alive(now))
    }
}

impl TokenLife {
    /// For good.
    pub(crate) fn revoke(&self) {
        self.is_revoked.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_revoked(&self) -> bool {
        self.is_revoked.load(Ordering::Relaxed)
    }
}
