//! The router is killed again and again under load: without it nothing is served, so it comes back at once, and after
//! many deaths within a second. No client is refused meanwhile.

use std::time::{Duration, Instant};

use corral_testkit::{Client, Request, Signal, eventually, is_alive, signal};

use super::site::{Busy, N_CLIENTS};
use super::{duration, is_long};

/// The longest that a client waits: a second is the daemon's own pause, the rest is for a busy machine.
const LONGEST_OUTAGE: Duration = Duration::from_secs(6);

/// Kills the router, and returns how long it takes until a file is served again.
fn outage(busy: &Busy) -> Duration {
    let router = busy.server.expect_processes("router", 1)[0];
    signal(router, Signal::KILL);
    let begun = Instant::now();
    eventually("it serves again", || {
        let mut client = Client::try_connect(busy.server.address().socket()).expect("nobody is refused");
        client.try_send(&Request::get("/a.txt")).ok().filter(|response| response.status == 200)
    });
    eventually("it is gone", || (!is_alive(router)).then_some(()));
    begun.elapsed()
}

#[test]
fn a_router_that_is_killed_again_and_again_is_back_soon() {
    let busy = Busy::start();
    let begun = Instant::now();
    let mut outages = Vec::new();
    while outages.len() < 8 || begun.elapsed() < duration() {
        outages.push(outage(&busy));
    }
    let n_kills = outages.len();
    outages.sort_unstable();
    eprintln!("{n_kills} routers killed: half of the outages within {:?}, {outages:?}", outages[n_kills / 2]);
    assert!(outages[n_kills - 1] < LONGEST_OUTAGE, "{outages:?}");
    // The pause of a second, and a start.
    assert!(!is_long() || outages[n_kills / 2] < Duration::from_millis(1500), "{outages:?}");
    busy.await_more();
    assert!(busy.server.log().contains(" times in a row; starting it again in "), "{}", busy.server.log());
    for tally in busy.stop() {
        let failures = tally.failures;
        assert!(failures.len() <= n_kills * N_CLIENTS, "{} good, but {failures:?}", tally.n_good);
        assert!(failures.iter().all(|failure| !failure.starts_with("connect:")), "{failures:?}");
    }
}
