//! Clients of HTTP/2 that mean harm, each on some connections at a time. Meanwhile the router's memory may grow by
//! little, and a good client is answered about as fast as by another router of the same machine that is not flooded.

mod control_frames;
mod heads;
mod resets;
mod streams;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use corral_testkit::{
    Daemon, Http2, OnEnd, Origin, RawHttp2, Site, Thread, eventually, proportional_memory,
    raise_descriptor_limit, site,
};
use serde_json::json;

use super::serve;

/// How much the memory of the router may grow in a flood, unless a test says how much it may be.
const GROWTH: u64 = 20 << 20;

/// An answer may take so much longer than twice the time that it takes elsewhere: what each flooding connection has
/// begun to have done is done first, some milliseconds in a build without optimizations. Where eight threads want each
/// processor, also the router that is not flooded is now and then 15 to 25 ms late.
const TURNS: Duration = Duration::from_millis(16);

/// How many clients flood at a time.
const N_CLIENTS: usize = 2;

/// How long a flood lasts; `CORRAL_CHAOS_SECONDS` makes it longer.
fn duration() -> Duration {
    let seconds = std::env::var("CORRAL_CHAOS_SECONDS").ok().map(|n| n.parse().expect("a number of seconds"));
    Duration::from_secs(seconds.unwrap_or(3))
}

/// A server to be flooded, and one like it that is not.
struct Target {
    server: Daemon,
    calm: Daemon,
    growth: u64,
    _site: Site,
    _silent: Origin,
}

/// The served paths: `/` from memory, a megabyte at `/large`, and at `/silent` a server that never answers.
fn target() -> Target {
    raise_descriptor_limit();
    let site = site().file("large", "x".repeat(1 << 20));
    let silent = Origin::start(|peer| while !peer.read().is_empty() {});
    let config = json!({
        "routes": [
            { "match": { "uri": "/large" }, "action": { "share": format!("{}$uri", site.root()) } },
            { "match": { "uri": "/silent" }, "action": { "proxy": silent.url() } },
            { "action": { "return": 200 } },
        ],
    });
    let (server, calm) = (serve(config.clone()), serve(config));
    Target { server, calm, growth: GROWTH, _site: site, _silent: silent }
}

/// How a flood of one connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The server has ended the connection.
    Refused,
    /// The time was over.
    Endured,
}

impl Target {
    /// With another bound for the growth of memory.
    fn growth(mut self, most: u64) -> Self {
        self.growth = most;
        self
    }

    /// Has some clients send what `flood` makes for its n-th turn on a connection, on one connection after the other.
    /// Returns how often the server has ended one.
    #[track_caller]
    fn flood(&self, settings: &[(u16, u32)], flood: impl Fn(u32) -> Vec<u8> + Sync) -> usize {
        self.flood_with(|is_over| {
            let mut client = RawHttp2::connect_with(self.server.address().socket(), settings);
            let mut turn = 0;
            while !is_over.load(Ordering::Relaxed) {
                if client.try_write(flood(turn)).is_err() || !client.skip() {
                    return End::Refused;
                }
                turn += 1;
            }
            End::Endured
        })
    }

    /// Has some clients do what `connection` does with one connection, again and again.
    #[track_caller]
    fn flood_with(&self, connection: impl Fn(&AtomicBool) -> End + Sync) -> usize {
        let router = self.server.expect_processes("router", 1)[0];
        let mut clients = [&self.server, &self.calm].map(GoodClient::connect);
        let before = proportional_memory(router).expect("it runs");
        let is_over = AtomicBool::new(false);
        let (n_refused, most) = thread::scope(|scope| {
            let _end = OnEnd(&is_over);
            let flood = || {
                let mut n_refused = 0;
                while !is_over.load(Ordering::Relaxed) {
                    n_refused += usize::from(connection(&is_over) == End::Refused);
                }
                n_refused
            };
            let floods: Vec<_> = (0..N_CLIENTS).map(|_| scope.spawn(flood)).collect();
            let memory = scope.spawn(|| watch_memory(router, &is_over));
            let end = Instant::now() + duration();
            // One after the other, so that both have the same machine.
            while Instant::now() < end {
                clients.iter_mut().for_each(GoodClient::ask);
            }
            is_over.store(true, Ordering::Relaxed);
            let n_refused = floods.into_iter().map(|flood| flood.join().expect("it floods")).sum();
            (n_refused, memory.join().expect("it watches"))
        });
        let growth = most.saturating_sub(before);
        let n = clients[0].times.len();
        let median = clients.each_mut().map(|client| client.percentile(50));
        let [beside, calm] = clients.each_mut().map(|client| client.percentile(99));
        eprintln!(
            "growth {growth}, {n} answers, p50 {median:?}, p99 {beside:?} beside the flood, {calm:?} elsewhere, \
             {n_refused} connections refused"
        );
        assert!(growth <= self.growth, "the router has grown by {growth} bytes");
        assert!(beside <= 2 * calm + TURNS, "p99 is {beside:?}, and {calm:?} without a flood");
        assert_eq!(self.server.named("router"), [router], "{}", self.server.log());
        n_refused
    }

    /// Fails unless nothing of the flood is left: no connection and no request.
    #[track_caller]
    fn expect_rest(&self) {
        eventually("everything has ended", || {
            let connections = self.server.control().get("/status/connections").json();
            (connections["accepted"] == connections["closed"]).then_some(())
        });
    }
}

/// A client that asks for `/` again and again on one connection.
struct GoodClient {
    client: Http2,
    /// The threads that an answer goes through: the event loop's, the one of the connection, and this one.
    threads: [Thread; 3],
    times: Vec<Duration>,
}

impl GoodClient {
    #[track_caller]
    fn connect(server: &Daemon) -> Self {
        let router = server.expect_processes("router", 1)[0];
        let mut client = Http2::connect(server.address().socket());
        let mut busiest = |pid| {
            let ask = || (0..100).for_each(|_| drop(client.get("/").expect(200)));
            Thread::busiest(pid, ask)
        };
        let threads = [busiest(router), busiest(std::process::id()), Thread::current()];
        let threads = threads.map(|thread| thread.expect("the system tells"));
        Self { client, threads, times: Vec::new() }
    }

    /// Notes how long an answer takes, without the time in which one of the threads was ready to run and others had the
    /// processors.
    #[track_caller]
    fn ask(&mut self) {
        let (begin, before) = (Instant::now(), self.held_up());
        self.client.get("/").expect(200);
        let took = begin.elapsed();
        self.times.push(took.saturating_sub(self.held_up().saturating_sub(before)));
    }

    fn held_up(&self) -> Duration {
        self.threads.iter().map(Thread::held_up).sum()
    }

    fn percentile(&mut self, percent: usize) -> Duration {
        self.times.sort_unstable();
        self.times[self.times.len() * percent / 100]
    }
}

/// The most memory that the router has had until the end.
fn watch_memory(router: u32, is_over: &AtomicBool) -> u64 {
    let mut most = 0;
    while !is_over.load(Ordering::Relaxed) {
        most = most.max(proportional_memory(router).unwrap_or_default());
        thread::sleep(Duration::from_millis(20));
    }
    most
}

/// The number of the n-th stream of a client.
fn stream(n: u32) -> u32 {
    2 * n + 1
}
