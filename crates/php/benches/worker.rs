//! CPU time of one worker for each request, without router and HTTP: `cargo bench -p corral-php`.
//! `N=1000000 ONLY=hello` asks for more requests and for one script.
//!
//! Two requests are always queued, as under load, so the worker never sleeps. The time is that of the
//! worker's process alone, as the kernel accounts it.

#![allow(dead_code, reason = "the tests use the rest of the host")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on may stop")]

#[path = "../tests/php/host.rs"]
mod host;
#[path = "../tests/php/messages.rs"]
mod messages;

use host::{App, Host, Worker, app};
use messages::{Request, get};

/// Requests of one measurement.
const N: u32 = 100_000;

/// The machine does other things too: the median of this many parts counts.
const ROUNDS: u32 = 20;

const HELLO: &str = "<?php echo 'Hello, World!';";
const SERVER: &str = "<?php echo $_SERVER['REQUEST_URI'], $_SERVER['HTTP_HOST'];";
const LOOP: &str = "<?php for ($i = 0; $i < 1000; ++$i) { echo \"Hello, World! $i \"; }";

fn main() {
    let n: u32 = std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(N);
    let only = std::env::var("ONLY").ok();
    for (name, script) in [("hello", HELLO), ("server", SERVER), ("loop", LOOP)] {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        measure(name, n, app(&[("index.php", script)]));
    }
}

fn measure(name: &str, n: u32, app: App) {
    let mut app = app.admin("opcache.revalidate_freq", "2");
    if let Ok(x) = std::env::var("X") {
        for kv in x.split(',') {
            let (k, v) = kv.split_once('=').unwrap();
            app = app.admin(k, v);
        }
    }
    let mut host = app.start();
    let mut worker = host.worker();
    let request = browser_request();
    round(&host, &mut worker, &request, n / ROUNDS);
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round(&host, &mut worker, &request, n / ROUNDS)).collect();
    rounds.sort_by(f64::total_cmp);
    worker.quit();
    host.exit_of(&worker);
    println!("{name:8} {:6.2} us, the best round {:6.2} us", rounds[rounds.len() / 2], rounds[0]);
}

/// Microseconds of CPU for each of `n` requests.
fn round(host: &Host, worker: &mut Worker, request: &Request, n: u32) -> f64 {
    let before = cpu_nanoseconds(worker.pid);
    let mut ahead = worker.submit(request);
    for _ in 1..n {
        let next = worker.submit(request);
        assert_eq!(worker.answer(host, ahead, request).status, 200);
        ahead = next;
    }
    worker.answer(host, ahead, request);
    (cpu_nanoseconds(worker.pid) - before) as f64 / 1e3 / f64::from(n)
}

/// A request as wrk or a small client sends it, and a little of what a browser adds.
fn browser_request() -> Request {
    get("/index.php")
        .field("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
        .field("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
        .field("Accept-Language", "en-US,en;q=0.5")
        .field("Accept-Encoding", "gzip, deflate, br")
}

/// Time on a processor, of user and kernel.
fn cpu_nanoseconds(pid: u32) -> u64 {
    let statistics = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    statistics.split(' ').next().unwrap().parse().unwrap()
}
