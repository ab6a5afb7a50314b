//! Limits over generations, and what a dry run counts.

use std::num::NonZeroU32;

use corral_config::pattern::address::AddressPatternSet;
use corral_config::throttle::{RequestRate, ThrottleKey};

use super::*;

fn throttle(place: &str, bound: ThrottleBound) -> Throttle {
    let exempt = AddressPatternSet::default();
    Throttle { place: place.to_owned(), key: ThrottleKey::Client, exempt, status: 429, dry_run: false, bound }
}

fn rate(burst: u32) -> ThrottleBound {
    let interval = Duration::from_secs(3600);
    ThrottleBound::Rate(RequestRate { interval, burst, delay: None, headers: false, entries: 1000 })
}

fn concurrency(most: u32) -> ThrottleBound {
    ThrottleBound::Concurrency(NonZeroU32::new(most).unwrap())
}

/// Requests of one key until one is refused.
fn n_passed(limit: &Arc<ClientLimit>, now: Instant) -> usize {
    let counted = limit.count("key");
    std::iter::repeat_with(|| limit.ask(counted, now)).take_while(|answer| !answer.is_refused).count()
}

/// Requests that have passed, that were refused, and keys.
fn figures(limit: &ClientLimit) -> (u64, u64, u64) {
    let status = limit.status(Instant::now());
    (status.passed, status.refused, status.keys)
}

fn limits<const N: usize>(throttles: [Throttle; N], previous: Option<&ClientLimits>) -> ClientLimits {
    ClientLimits::new(&throttles.into_iter().collect(), previous)
}

#[test]
fn what_stays_as_it_was_goes_on() {
    let before = limits([throttle("/a", rate(4)), throttle("/b", rate(4))], None);
    let now = Instant::now();
    assert!(before.iter().count() == 2 && before.0.iter().all(|limit| n_passed(limit, now) == 5));
    let throttles = [throttle("/b", rate(4)), throttle("/a", rate(5)), throttle("/c", rate(4))];
    let after = limits(throttles, Some(&before));
    let n_passed: Vec<_> = after.0.iter().map(|limit| n_passed(limit, now)).collect();
    assert_eq!(n_passed, [0, 6, 5]);
}

#[test]
fn places_come_back_when_requests_end() {
    let limits = limits([throttle("/a", concurrency(2))], None);
    let limit = limits.get(Key::nth(0)).unwrap();
    let ask = |key: &str| limit.ask(limit.count(key), Instant::now());
    let (first, second) = (ask("a"), ask("a"));
    assert!(!first.is_refused && !second.is_refused && ask("a").is_refused && !ask("b").is_refused);
    assert_eq!(figures(limit), (3, 1, 1));
    drop(first);
    let third = ask("a");
    assert!(!third.is_refused && ask("a").is_refused);
    drop((second, third));
    assert_eq!(figures(limit), (4, 2, 0), "nothing is left behind");
}

/// A configuration may be gone while its requests go on.
#[test]
fn a_place_outlives_its_generation() {
    let before = limits([throttle("/a", concurrency(1))], None);
    let limit = before.get(Key::nth(0)).unwrap();
    let held = limit.ask(limit.count("a"), Instant::now());
    let after = limits([throttle("/a", concurrency(1))], Some(&before));
    drop(before);
    let limit = after.get(Key::nth(0)).unwrap();
    assert!(limit.ask(limit.count("a"), Instant::now()).is_refused);
    drop(held);
    assert!(!limit.ask(limit.count("a"), Instant::now()).is_refused);
}

#[test]
fn a_dry_run_counts_what_it_lets_pass() {
    let dry = Throttle { dry_run: true, ..throttle("/a", rate(0)) };
    let limits = limits([dry], None);
    let limit = limits.get(Key::nth(0)).unwrap();
    let now = Instant::now();
    let counted = limit.count("a");
    assert!(!limit.ask(counted, now).is_refused && limit.ask(counted, now).is_refused);
    assert_eq!(figures(limit), (2, 1, 1));
}
