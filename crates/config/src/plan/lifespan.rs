//! After how many requests a worker leaves: each draws its own number, so that workers that were started together
//! do not all leave together.

use std::num::NonZeroU32;

use super::Limits;

impl Limits {
    /// The number for one worker; none if there is no limit. `lot` is any number of its own.
    #[must_use]
    pub fn draw_requests(&self, lot: u64) -> Option<u32> {
        self.requests.map(|requests| choose(requests, self.requests_jitter, lot))
    }
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
