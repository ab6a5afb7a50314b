//! Facts that are kept for a while by secrets. Secrets must not be found in memory, so that there is a keyed hash of
//! each.

use std::collections::{HashMap, VecDeque};

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;

/// A bounded table; the oldest entries make room for new ones.
pub(crate) struct SecretCache<T> {
    key: HashKey,
    entries: HashMap<Digest, T>,
    /// Oldest first. An entry that is replaced keeps its place.
    order: VecDeque<Digest>,
    most: usize,
}

/// The hash of a secret.
pub(crate) type Digest = [u8; 32];

/// A key that hashes are made with.
pub(crate) struct HashKey(hmac::Key);

impl HashKey {
    pub(crate) fn generate() -> Self {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        Self(key.expect("the system has random numbers"))
    }

    /// The hash of several parts, which is another one if they are split elsewhere.
    pub(crate) fn digest<'p>(&self, parts: impl IntoIterator<Item = &'p [u8]>) -> Digest {
        let mut context = hmac::Context::with_key(&self.0);
        for part in parts {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part);
        }
        context.sign().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }
}

impl<T> SecretCache<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { key: HashKey::generate(), entries: HashMap::new(), order: VecDeque::new(), most }
    }

    /// The [hash](HashKey::digest) of several parts.
    pub(crate) fn digest<'p>(&self, parts: impl IntoIterator<Item = &'p [u8]>) -> Digest {
        self.key.digest(parts)
    }

    pub(crate) fn get(&self, digest: &Digest) -> Option<&T> {
        self.entries.get(digest)
    }

    pub(crate) fn insert(&mut self, digest: Digest, entry: T) {
        if self.entries.insert(digest, entry).is_some() {
            return;
        }
        self.order.push_back(digest);
        while self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room() {
        let mut known = SecretCache::new(2);
        let digests = [b"a", b"b", b"c"].map(|text| known.digest([&text[..]]));
        for (n, digest) in digests.iter().enumerate() {
            known.insert(*digest, n);
        }
        assert_eq!(digests.map(|digest| known.get(&digest).copied()), [None, Some(1), Some(2)]);
        known.insert(digests[1], 5);
        assert_eq!((known.get(&digests[1]), known.order.len()), (Some(&5), 2));
    }

    #[test]
    fn parts_are_told_apart() {
        let known = SecretCache::<()>::new(1);
        assert_ne!(known.digest([&b"ab"[..], b"c"]), known.digest([&b"a"[..], b"bc"]));
        assert_ne!(
            known.digest([&b"a"[..]]),
            SecretCache::<()>::new(1).digest([&b"a"[..]]),
            "each has its own key"
        );
    }
}
