//! The slowest requests of recent time that one event loop has seen.
//!
//! A request that takes less than [`FLOOR`] costs one comparison. Others take a lock that the control thread holds only
//! while it copies the list for the status.

use std::time::{Duration, Instant};

use corral_ipc::message::{MOST_SLOW, SlowRequest};
use parking_lot::Mutex;

/// Requests that take less are never among them.
pub(crate) const FLOOR: Duration = Duration::from_millis(100);

/// How long a request stays among them.
const RECENT: Duration = Duration::from_secs(600);

/// The requests, each with when it was over.
#[derive(Debug, Default)]
pub(crate) struct SlowRequests(Mutex<Vec<(Instant, SlowRequest)>>);

impl SlowRequests {
    /// Keeps a request that is over if it is one of the slowest. It is described only then, and may still be none that
    /// counts.
    pub(crate) fn offer(&self, took: Duration, now: Instant, describe: impl FnOnce() -> Option<SlowRequest>) {
        if took < FLOOR {
            return;
        }
        let mut kept = self.0.lock();
        forget_old(&mut kept, now);
        let least = kept.iter().enumerate().min_by_key(|(_, (_, request))| request.took);
        let least = least.map(|(place, (_, request))| (place, request.took));
        let gives_way = least.filter(|_| kept.len() >= MOST_SLOW);
        if gives_way.is_some_and(|(_, least)| least >= took) {
            return;
        }
        let Some(request) = describe() else { return };
        if let Some((place, _)) = gives_way {
            kept.swap_remove(place);
        }
        kept.push((now, request));
    }

    /// All that are recent.
    pub(crate) fn list(&self, now: Instant) -> Vec<SlowRequest> {
        let mut kept = self.0.lock();
        forget_old(&mut kept, now);
        kept.iter().map(|(_, request)| request.clone()).collect()
    }
}

fn forget_old(kept: &mut Vec<(Instant, SlowRequest)>, now: Instant) {
    kept.retain(|(ended, _)| now.saturating_duration_since(*ended) < RECENT);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(requests: &SlowRequests, took: Duration, now: Instant) {
        requests.offer(took, now, || Some(SlowRequest { took, ..SlowRequest::default() }));
    }

    fn millis(requests: &SlowRequests, now: Instant) -> Vec<u128> {
        let mut millis: Vec<_> = requests.list(now).iter().map(|request| request.took.as_millis()).collect();
        millis.sort_unstable();
        millis
    }

    #[test]
    fn quick_requests_are_not_even_described() {
        let requests = SlowRequests::default();
        let just_below = FLOOR.checked_sub(Duration::from_nanos(1)).unwrap();
        requests.offer(just_below, Instant::now(), || panic!("it is not slow"));
        assert!(requests.list(Instant::now()).is_empty());
        offer(&requests, FLOOR, Instant::now());
        assert_eq!(millis(&requests, Instant::now()), [100]);
    }

    #[test]
    fn the_slowest_stay() {
        let (requests, now) = (SlowRequests::default(), Instant::now());
        for n in 0..100 {
            offer(&requests, Duration::from_millis(100 + (n * 37) % 100), now);
        }
        assert_eq!(millis(&requests, now), (168..200).collect::<Vec<_>>());
        requests.offer(Duration::from_millis(168), now, || panic!("it is not slower than the least"));
        requests.offer(Duration::from_secs(1), now, || None);
        assert_eq!(requests.list(now).len(), MOST_SLOW);
    }

    #[test]
    fn what_is_old_leaves() {
        let (requests, now) = (SlowRequests::default(), Instant::now());
        for _ in 0..MOST_SLOW {
            offer(&requests, Duration::from_secs(60), now);
        }
        let later = now + RECENT / 2;
        offer(&requests, Duration::from_secs(1), later);
        assert_eq!(requests.list(later).len(), MOST_SLOW);
        offer(&requests, Duration::from_secs(1), now + RECENT);
        assert_eq!(millis(&requests, now + RECENT), [1000]);
        assert!(requests.list(now + 2 * RECENT).is_empty());
    }
}
