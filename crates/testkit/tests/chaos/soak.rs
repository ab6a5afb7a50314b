//! The mixed load for a long time, with restarts, changes and killed workers: main and the router neither grow nor
//! keep descriptors. `CORRAL_SOAK_SECONDS=1200` is the long form; `make soak` runs it.

use std::fs;
use std::time::{Duration, Instant};

use corral_testkit::{
    Daemon, Signal, eventually, is_alive, open_descriptors, resident_memory, signal, within,
};

use crate::site::{Busy, N_WORKERS, PROTOTYPE, WORKER};

/// From here on allocators and caches have what they will ever have.
const LONG: Duration = Duration::from_secs(300);

/// The allocator takes memory in such pieces: one more or less is not growth.
const ALLOCATED_AT_A_TIME: u64 = 2 * 1024 * 1024;

fn duration() -> Duration {
    let seconds = std::env::var("CORRAL_SOAK_SECONDS").map_or(8, |n| n.parse().expect("a number of seconds"));
    Duration::from_secs(seconds)
}

/// Memory and descriptors of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Holding {
    memory: u64,
    descriptors: usize,
}

fn holding(pid: u32) -> Holding {
    let memory = resident_memory(pid).expect("it runs");
    Holding { memory, descriptors: open_descriptors(pid).expect("it runs") }
}

/// Everything that makes a server work, then a moment without any of it. Returns what main and the router hold.
fn round(busy: &Busy, n: usize) -> [Holding; 2] {
    busy.restart_application();
    busy.change_routes(n);
    if let Some(worker) = busy.server.named(WORKER).first() {
        signal(*worker, Signal::KILL);
    }
    busy.loads().into_iter().for_each(|load| load.await_more(100));
    busy.server.expect_processes(PROTOTYPE, 1);
    busy.server.expect_processes(WORKER, N_WORKERS);
    let router = busy.server.expect_processes("router", 1)[0];
    [busy.server.pid(), router].map(holding)
}

/// The middle one of the samples of each process.
fn medians(samples: &[[Holding; 2]]) -> [Holding; 2] {
    [0, 1].map(|process| {
        let mut sorted: Vec<_> = samples.iter().map(|sample| sample[process]).collect();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    })
}

#[test]
fn main_and_the_router_stay_as_they_are() {
    let busy = Busy::start();
    let begun = Instant::now();
    let mut samples = Vec::new();
    while begun.elapsed() < duration() || samples.len() < 8 {
        samples.push(round(&busy, samples.len()));
    }
    let n = samples.len();
    // A quarter of the time is for warming up.
    let (early, late) = (medians(&samples[n / 4..n / 2]), medians(&samples[n * 3 / 4..]));
    eprintln!("{n} rounds in {:?}: {early:?} -> {late:?}", begun.elapsed());
    let percent = if duration() >= LONG { 3 } else { 15 };
    for (name, early, late) in [("main", early[0], late[0]), ("router", early[1], late[1])] {
        let most = early.memory + early.memory * percent / 100 + ALLOCATED_AT_A_TIME;
        assert!(late.memory < most, "{name} has grown, more than {percent} %: {early:?}, {late:?}");
        // A connection or a pipe more or less is of the moment.
        assert!(late.descriptors <= early.descriptors + 8, "{name} keeps descriptors: {samples:?}");
    }
    let (php, _) = busy.stop_and_expect_others_unharmed();
    assert!(php.failures.len() <= n, "{} killed, {:?}", n, php.failures);
    assert!(php.failures.iter().all(|failure| failure.contains(" 503 ")), "{:?}", php.failures);
}

/// Descriptors of main, the router and the prototype, sorted, each as the kind of its target.
fn open_kinds(server: &Daemon) -> [Vec<String>; 3] {
    let main = server.pid();
    let [router, prototype] = ["router", PROTOTYPE].map(|name| server.expect_processes(name, 1)[0]);
    [main, router, prototype].map(|pid| {
        let entries = fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs").flatten();
        let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
        // What follows is a number of its own, or opcache's lock with a random name.
        let kind = |text: String| text.split([':', '.']).next().unwrap_or_default().to_owned();
        let mut kinds: Vec<_> = targets.map(|target| kind(target.display().to_string())).collect();
        kinds.sort_unstable();
        kinds
    })
}

/// Nothing is asked meanwhile, so that everything that is open is there for good.
#[test]
fn restarts_and_upgrades_leave_no_descriptors() {
    let busy = Busy::start();
    busy.await_more();
    let (mut server, (site, _origin)) = busy.idle();
    let at_rest = |server: &Daemon| {
        server.expect_processes(WORKER, N_WORKERS);
        eventually("connections are closed", || {
            let connections = server.control().get("/status/connections").json();
            (connections["active"] == 0 && connections["idle"] == 0).then_some(())
        });
        eventually("files that nobody asks for are closed", || {
            let kinds = open_kinds(server);
            let has_files = kinds.iter().flatten().any(|kind| kind.starts_with(&site.root()));
            (!has_files).then_some(kinds)
        })
    };
    let expect_the_same = |server: &Daemon, before: &[Vec<String>; 3]| {
        let mut last = before.clone();
        let same = within(Duration::from_secs(10), || {
            last = at_rest(server);
            (last == *before).then_some(())
        });
        assert!(same.is_some(), "{before:#?}, then {last:#?}");
    };
    let first = at_rest(&server);
    for _ in 0..5 {
        server.control().get("/control/applications/php/restart").0.expect(200);
    }
    expect_the_same(&server, &first);
    let upgrade = |server: &mut Daemon| {
        let old = server.upgrade();
        eventually("the old process has ended", || (!is_alive(old)).then_some(()));
    };
    upgrade(&mut server);
    // The first one had been used, and was started by another process.
    let second = at_rest(&server);
    assert!(
        std::iter::zip(&second, &first).all(|(new, old)| new.len() <= old.len()),
        "{first:#?} {second:#?}"
    );
    for _ in 0..2 {
        upgrade(&mut server);
        expect_the_same(&server, &second);
    }
}
