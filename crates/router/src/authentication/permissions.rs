//! Permissions that other servers have given, for as long as the configuration has them remembered.

use std::time::Instant;

use parking_lot::Mutex;

use super::secret_cache::{Digest, SecretCache};
use crate::request::identity::AuthenticatedUser;

/// The permissions of one place.
pub(crate) struct Permissions(Mutex<SecretCache<RememberedPermission>>);

struct RememberedPermission {
    until: Instant,
    permission: Permission,
}

/// The word of a server that a request may go on.
#[derive(Debug, Clone)]
pub(crate) struct Permission {
    pub(crate) identity: AuthenticatedUser,
    /// The values of the fields that are copied, in the order of the configuration.
    pub(crate) fields: Vec<Option<Vec<u8>>>,
}

impl Default for Permissions {
    fn default() -> Self {
        Self(Mutex::new(SecretCache::new(MOST_REMEMBERED)))
    }
}

impl Permissions {
    /// The hash of what a permission is remembered for.
    pub(crate) fn digest<'p>(&self, parts: impl IntoIterator<Item = &'p [u8]>) -> Digest {
        self.0.lock().digest(parts)
    }

    pub(crate) fn find(&self, digest: &Digest, now: Instant) -> Option<Permission> {
        let known = self.0.lock();
        known.get(digest).filter(|known| now < known.until).map(|known| known.permission.clone())
    }

    pub(crate) fn remember(&self, digest: Digest, permission: &Permission, until: Instant) {
        self.0.lock().insert(digest, RememberedPermission { until, permission: permission.clone() });
    }
}

/// Permissions of one place.
const MOST_REMEMBERED: usize = 10_000;
