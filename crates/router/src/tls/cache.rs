//! Sessions that the server remembers (`session.cache_size`, `session.timeout`).

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustls::server::StoresServerSessions;

/// A bounded number of sessions; the oldest go first. Shared by all event loops.
pub(super) struct SessionCache {
    size: usize,
    timeout: Duration,
    sessions: Mutex<StoredSessions>,
}

#[derive(Default)]
struct StoredSessions {
    by_id: HashMap<Vec<u8>, StoredSession>,
    /// In the order in which they came; some are gone already.
    order: VecDeque<Vec<u8>>,
}

struct StoredSession {
    value: Vec<u8>,
    at: Instant,
}

impl SessionCache {
    pub(super) fn new(size: usize, timeout: Duration) -> Arc<Self> {
        Arc::new(Self { size, timeout, sessions: Mutex::default() })
    }

    fn is_fresh(&self, stored: &StoredSession) -> bool {
        stored.at.elapsed() < self.timeout
    }
}

impl StoredSessions {
    /// Makes room for one more.
    fn shrink(&mut self, size: usize) {
        while self.by_id.len() >= size || self.order.len() >= size.saturating_mul(2) {
            let Some(oldest) = self.order.pop_front() else { return };
            self.by_id.remove(&oldest);
        }
    }
}

impl StoresServerSessions for SessionCache {
    fn put(&self, id: Vec<u8>, value: Vec<u8>) -> bool {
        let mut sessions = self.sessions.lock();
        sessions.shrink(self.size);
        sessions.order.push_back(id.clone());
        sessions.by_id.insert(id, StoredSession { value, at: Instant::now() });
        true
    }

    fn get(&self, id: &[u8]) -> Option<Vec<u8>> {
        let sessions = self.sessions.lock();
        let stored = sessions.by_id.get(id).filter(|stored| self.is_fresh(stored))?;
        Some(stored.value.clone())
    }

    fn take(&self, id: &[u8]) -> Option<Vec<u8>> {
        let stored = self.sessions.lock().by_id.remove(id)?;
        self.is_fresh(&stored).then_some(stored.value)
    }

    fn can_cache(&self) -> bool {
        true
    }
}

impl fmt::Debug for SessionCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionCache").field("size", &self.size).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cache: &SessionCache, id: u8) {
        cache.put(vec![id], vec![id; 3]);
    }

    /// `expect` are the sessions that are left of 0 to 9.
    #[track_caller]
    fn check(cache: &SessionCache, expect: &[u8]) {
        let left: Vec<_> = (0..10).filter(|id| cache.get(&[*id]) == Some(vec![*id; 3])).collect();
        assert_eq!(left, expect);
    }

    #[test]
    fn the_oldest_make_room() {
        let cache = SessionCache::new(3, Duration::from_secs(60));
        (0..5).for_each(|id| put(&cache, id));
        check(&cache, &[2, 3, 4]);
    }

    #[test]
    fn one_that_was_taken_is_gone() {
        let cache = SessionCache::new(3, Duration::from_secs(60));
        (0..3).for_each(|id| put(&cache, id));
        assert_eq!(cache.take(&[1]), Some(vec![1; 3]));
        assert_eq!(cache.take(&[1]), None);
        put(&cache, 3);
        check(&cache, &[0, 2, 3]);
    }

    #[test]
    fn the_list_of_ids_is_bounded() {
        let cache = SessionCache::new(2, Duration::from_secs(60));
        for _ in 0..1000 {
            put(&cache, 1);
            cache.take(&[1]);
        }
        assert!(cache.sessions.lock().order.len() <= 4);
    }

    #[test]
    fn old_ones_are_not_resumed() {
        let cache = SessionCache::new(2, Duration::ZERO);
        put(&cache, 1);
        check(&cache, &[]);
        assert_eq!(cache.take(&[1]), None);
    }
}
