//! After how many requests a worker leaves: each draws its own number, so that workers that were started together
//! do not all leave together.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU32;
use std::time::SystemTime;

use corral_config::plan::Limits;

/// The number for this process; none if there is no limit.
pub(crate) fn draw(limits: &Limits) -> Option<u32> {
    let mut lot = DefaultHasher::new();
    (std::process::id(), SystemTime::now()).hash(&mut lot);
    limits.requests.map(|requests| choose(requests, limits.requests_jitter, lot.finish()))
}

/// Between `requests` and up to `jitter` thousandths of it less, but at least one.
fn choose(requests: NonZeroU32, jitter: u32, lot: u64) -> u32 {
    let most = u64::from(requests.get());
    let spread = most * u64::from(jitter.min(1000)) / 1000;
    let chosen = (most - lot % (spread + 1)).max(1);
    u32::try_from(chosen).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(requests: u32, jitter: u32, lot: u64, expect: u32) {
        let requests = NonZeroU32::new(requests).expect("tests ask for at least one");
        assert_eq!(choose(requests, jitter, lot), expect);
    }

    #[test]
    fn without_jitter_all_are_the_same() {
        check(100, 0, 12345, 100);
    }

    #[test]
    fn it_is_never_more_than_was_asked_for() {
        check(100, 250, 0, 100);
        check(100, 250, 25, 75);
        check(100, 250, 26, 100);
    }

    #[test]
    fn a_worker_serves_one_request_at_least() {
        check(3, 1000, 3, 1);
        check(1, 1000, 1, 1);
        check(u32::MAX, 1000, u64::from(u32::MAX), 1);
    }
}
