//! Faults on purpose, while PHP, files and a proxied server are asked without pause, with an account of every
//! request: what a fault costs is counted, and nothing else may be lost.
//!
//! `CORRAL_CHAOS_SECONDS=60` is the long form of each case, `CORRAL_CHAOS_CLIENTS=10000` that of those that are about
//! many clients; `make chaos` runs them.

mod attackers;
mod canary;
mod changes;
mod collector;
mod crowd;
mod disk;
mod floods;
mod hostile;
mod mains;
mod pings;
mod routers;
mod shortage;
mod site;
mod slow_clients;
mod soak;

use std::time::{Duration, Instant};

use corral_testkit::{Signal, eventually, signal};
use serde_json::json;

use self::site::{Busy, N_CLIENTS, N_WORKERS, PROTOTYPE, WORKER};

/// How long a case goes on.
fn duration() -> Duration {
    let seconds =
        std::env::var("CORRAL_CHAOS_SECONDS").map_or(3, |n| n.parse().expect("a number of seconds"));
    Duration::from_secs(seconds)
}

/// How many clients there are where it is about many.
fn n_clients() -> usize {
    given_clients().unwrap_or(60)
}

fn given_clients() -> Option<usize> {
    std::env::var("CORRAL_CHAOS_CLIENTS").ok().map(|n| n.parse().expect("a number of clients"))
}

/// Whether this is the long form, in which times are looked at as well.
fn is_long() -> bool {
    given_clients().is_some()
}

/// Kills one worker after the other, and `also` does something else every now and then. Returns how many were killed.
fn kill_workers(busy: &mut Busy, mut also: impl FnMut(&mut Busy, usize)) -> usize {
    let end = Instant::now() + duration();
    let mut n_killed = 0;
    while Instant::now() < end {
        let workers = busy.server.named(WORKER);
        if let Some(worker) = workers.get(n_killed % N_WORKERS) {
            signal(*worker, Signal::KILL);
            n_killed += 1;
        }
        also(busy, n_killed);
        // The pace of the faults.
        std::thread::sleep(Duration::from_millis(50));
    }
    n_killed
}

/// Kills a worker, and returns how long it takes until there are as many as before.
fn replacing_time(busy: &Busy, n: usize) -> Duration {
    let worker = busy.server.expect_processes(WORKER, N_WORKERS)[n % N_WORKERS];
    let begun = Instant::now();
    signal(worker, Signal::KILL);
    eventually("it is replaced", || {
        let workers = busy.server.named(WORKER);
        (workers.len() == N_WORKERS && !workers.contains(&worker)).then_some(())
    });
    begun.elapsed()
}

/// Under full load; it is a figure of this machine too, so it is judged in the long form only.
#[test]
fn capacity_is_back_soon() {
    let busy = Busy::start();
    let n_kills = if is_long() { 200 } else { 20 };
    let mut times: Vec<_> = (0..n_kills).map(|n| replacing_time(&busy, n)).collect();
    times.sort_unstable();
    let (median, p95) = (times[n_kills / 2], times[n_kills * 95 / 100]);
    eprintln!("{n_kills} workers replaced: half of them within {median:?}, 95 of 100 within {p95:?}");
    assert!(!is_long() || p95 < Duration::from_millis(100), "{times:?}");
    drop(busy.stop_and_expect_others_unharmed());
}

#[test]
fn killed_workers_cost_what_they_ran() {
    let mut busy = Busy::start();
    let n_killed = kill_workers(&mut busy, |_, _| {});
    busy.server.expect_processes(WORKER, N_WORKERS);
    let (php, log) = busy.stop_and_expect_others_unharmed();
    assert!(php.failures.len() <= n_killed, "{n_killed} killed, {}", php.failures.len());
    assert!(php.failures.iter().all(|failure| failure.contains(" 503 ")), "{:?}", php.failures);
    let n_logged = log.matches("while it ran the request").count();
    assert_eq!(n_logged, php.failures.len(), "each is in the log\n{log}");
}

#[test]
fn changes_restarts_and_upgrades_lose_nothing_while_workers_are_killed() {
    let mut busy = Busy::start();
    let n_killed = kill_workers(&mut busy, |busy, n| match n % 16 {
        4 => drop(busy.change_routes(n)),
        8 => busy.restart_application(),
        // One at a time: the process before it is still finishing.
        12 if n == 12 => drop(busy.server.upgrade()),
        _ => {}
    });
    let (php, _) = busy.stop_and_expect_others_unharmed();
    assert!(php.failures.len() <= n_killed, "{n_killed} killed, {:?}", php.failures);
    assert!(php.failures.iter().all(|failure| failure.contains(" 503 ")), "{:?}", php.failures);
}

#[test]
fn a_killed_prototype_takes_no_more_than_its_workers_with_it() {
    let busy = Busy::start();
    let n_kills = 3;
    for _ in 0..n_kills {
        let prototype = busy.server.expect_processes(PROTOTYPE, 1)[0];
        busy.server.kill(prototype);
        busy.server.expect_processes(WORKER, N_WORKERS);
        busy.php.await_more(20);
    }
    let (php, _) = busy.stop_and_expect_others_unharmed();
    assert!(php.failures.len() <= n_kills * N_WORKERS, "{:?}", php.failures);
    assert!(php.failures.iter().all(|failure| failure.contains(" 503 ")), "{:?}", php.failures);
}

#[test]
fn a_killed_router_costs_what_it_held_and_refuses_nobody() {
    let busy = Busy::start();
    let n_kills = 3;
    for _ in 0..n_kills {
        let router = busy.server.expect_processes("router", 1)[0];
        busy.server.kill(router);
        busy.await_more();
    }
    let tallies = busy.stop();
    for tally in tallies {
        let failures = tally.failures;
        assert!(failures.len() <= n_kills * N_CLIENTS, "{} good, but {failures:?}", tally.n_good);
        assert!(failures.iter().all(|failure| !failure.starts_with("connect:")), "{failures:?}");
    }
}

#[test]
fn a_killed_controller_is_nobody_s_loss() {
    let busy = Busy::start();
    let controller = busy.server.expect_processes("controller", 1)[0];
    busy.server.kill(controller);
    eventually("another controller answers", || {
        let status = busy.server.control().try_send(&corral_testkit::Request::get("/status"));
        status.is_ok().then_some(())
    });
    assert_eq!(busy.server.control().get("/config/applications/php/processes").json(), json!(N_WORKERS));
    let (php, _) = busy.stop_and_expect_others_unharmed();
    assert!(php.failures.is_empty(), "{:?}", php.failures);
}
