//! Processes that break the rules: memory that a worker shares with the router is written over at random, and main gets
//! datagrams that are not messages. Needs root, which may write to the memory of processes of other users.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use corral_ipc::link::Link;
use corral_testkit::attacker::{can_take_links, link_of};
use corral_testkit::{Daemon, daemon, eventually, is_alive, open_descriptors};
use rustix::net::SendFlags;
use serde_json::json;

use super::site::{Busy, N_WORKERS, PROTOTYPE, WORKER};

/// Xorshift: the same for the same seed.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn bytes(&mut self, n: u64) -> Vec<u8> {
        (0..n).map(|_| self.next() as u8).collect()
    }
}

/// The memory that a worker shares with the router, as it is mapped in the worker.
struct Channel {
    memory: File,
    start: u64,
    len: u64,
}

impl Channel {
    fn of(worker: u32) -> Option<Self> {
        let maps = fs::read_to_string(format!("/proc/{worker}/maps")).ok()?;
        let line = maps.lines().find(|line| line.contains("memfd:corral-worker"))?;
        let (start, rest) = line.split_once('-')?;
        let (end, _) = rest.split_once(' ')?;
        let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).expect("an address"));
        let memory = File::options().write(true).open(format!("/proc/{worker}/mem")).ok()?;
        Some(Self { memory, start, len: end - start })
    }

    /// A worker that has ended meanwhile has no memory to write to.
    fn write(&self, at: u64, bytes: &[u8]) {
        let _ = self.memory.write_all_at(bytes, self.start + at);
    }

    /// Writes over one part of it, by the layout that `corral-channel` documents.
    fn scribble(&self, seed: u64) {
        let mut random = Random::new(seed);
        match seed % 6 {
            // Slots and note.
            0 => self.write(256, &random.bytes(512)),
            // Cursors of the request ring.
            1 => self.write(768, &random.bytes(256)),
            // Cursors of the lanes.
            2 => self.write(1024, &random.bytes(512)),
            // Any data, again and again while it is used.
            3 => self.many(&mut random, 4096, self.len),
            // Small changes where it hurts.
            4 => self.many(&mut random, 128, 2048),
            _ => self.write(128, &random.bytes(self.len - 128)),
        }
    }

    fn many(&self, random: &mut Random, from: u64, to: u64) {
        for _ in 0..500 {
            let at = from + random.below(to - from - 64);
            let n = 1 + random.below(64);
            self.write(at, &random.bytes(n));
        }
    }
}

/// A worker that runs: some are about to end.
fn some_worker(server: &Daemon) -> (u32, Channel) {
    eventually("a worker has a channel", || {
        server.named(WORKER).into_iter().find_map(|worker| Some((worker, Channel::of(worker)?)))
    })
}

fn descriptors_of_router(server: &Daemon) -> usize {
    let router = server.expect_processes("router", 1)[0];
    open_descriptors(router).expect("it runs")
}

/// Requests that the scribbling worker holds may fail, but every one is answered.
#[test]
fn workers_that_scribble_over_their_channels_hurt_nobody_else() {
    if !can_take_links() {
        return;
    }
    let busy = Busy::start_with(daemon(), &json!({ "limits": { "timeout": 1, "kill_after": 2 } }));
    let router = busy.server.expect_processes("router", 1)[0];
    let n_seeds = 18;
    for seed in 0..n_seeds {
        busy.server.expect_processes(WORKER, N_WORKERS);
        some_worker(&busy.server).1.scribble(seed);
        busy.php.await_more(20);
    }
    busy.server.expect_processes(WORKER, N_WORKERS);
    assert_eq!(busy.server.expect_processes("router", 1), [router], "it is the same");
    let (php, log) = busy.stop_and_expect_others_unharmed();
    let n_ended = log.matches("breaks the rules of the channel").count() + log.matches("is damaged").count();
    assert!(n_ended >= n_seeds as usize / 3, "{n_ended} of {n_seeds} did any harm\n{log}");
    assert!(php.failures.len() <= 2 * n_seeds as usize, "{:?}", php.failures);
    assert!(php.failures.iter().all(|failure| failure.contains(" 503 ")), "{:?}", php.failures);
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn broken_workers_leave_no_descriptors() {
    if !can_take_links() {
        return;
    }
    let busy = Busy::start_with(daemon(), &json!({ "limits": { "timeout": 1, "kill_after": 2 } }));
    busy.loads().into_iter().for_each(|load| load.await_more(50));
    let (server, _served) = busy.idle();
    await_no_connections(&server);
    let before = descriptors_of_router(&server);
    for seed in 0..12 {
        let (worker, channel) = some_worker(&server);
        channel.scribble(6 * seed + 5);
        eventually("the worker is ended", || {
            let _ = server.connect().get("/");
            (!is_alive(worker)).then_some(())
        });
    }
    server.expect_processes(WORKER, N_WORKERS);
    await_no_connections(&server);
    let after = descriptors_of_router(&server);
    // Idle connections to the proxied server may have been closed meanwhile.
    assert!(after <= before, "{before} descriptors, then {after}");
}

fn await_no_connections(server: &Daemon) {
    eventually("all connections are closed", || {
        let connections = server.control().get("/status/connections").json();
        (connections["active"] == 0 && connections["idle"] == 0).then_some(())
    });
}

fn send_garbage(link: &Link, seed: u64) {
    let mut random = Random::new(seed);
    let n = 1 + random.below(600);
    let mut bytes = random.bytes(n);
    if seed.is_multiple_of(2) {
        // As if it were a message.
        bytes[0] = 0;
    }
    rustix::net::send(link.as_fd(), &bytes, SendFlags::NOSIGNAL).expect("main reads");
}

#[test]
fn main_refuses_garbage_of_a_prototype_and_starts_another() {
    if !can_take_links() {
        return;
    }
    let busy = Busy::start();
    let n_seeds = 6;
    for seed in 0..n_seeds {
        let prototype = busy.server.expect_processes(PROTOTYPE, 1)[0];
        send_garbage(&link_of(prototype), seed);
        eventually("the prototype is ended", || (!is_alive(prototype)).then_some(()));
        busy.server.expect_processes(WORKER, N_WORKERS);
        busy.php.await_more(20);
    }
    let main = busy.server.pid();
    assert!(is_alive(main));
    let (php, log) = busy.stop_and_expect_others_unharmed();
    assert!(php.failures.iter().all(|failure| failure.contains(" 503 ")), "{:?}", php.failures);
    assert_eq!(log.matches("sent a broken message").count(), n_seeds as usize, "{log}");
}

#[test]
fn main_refuses_garbage_of_the_router_and_the_controller() {
    if !can_take_links() {
        return;
    }
    let busy = Busy::start();
    for (seed, name) in [(1, "router"), (2, "router"), (3, "controller"), (4, "controller")] {
        let process = busy.server.expect_processes(name, 1)[0];
        send_garbage(&link_of(process), seed);
        eventually("it is ended", || (!is_alive(process)).then_some(()));
        busy.server.expect_processes(name, 1);
        busy.await_more();
    }
    assert_eq!(busy.server.log().matches("sent a broken message").count(), 4, "{}", busy.server.log());
}
