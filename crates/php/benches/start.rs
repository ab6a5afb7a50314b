//! The cost of a further worker: the time from asking the prototype for it to its first answer, and the memory that it
//! does not share: `cargo bench -p corral-php --bench start`. `N=1000` asks for more workers.
//!
//! Workers are started one after the other beside those that run already, as for an application that needs more
//! of them. main and the router, which are not here, add two messages.

#![allow(dead_code, reason = "the tests use the rest of the host")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on may stop")]

#[path = "../tests/php/host.rs"]
mod host;
#[path = "../tests/php/messages.rs"]
mod messages;

use std::time::Instant;

use host::{App, Host, Worker, app};
use messages::{Request, get};

/// Workers of one measurement.
const N: usize = 200;

/// Workers that run at the same time.
const N_TOGETHER: usize = 20;

/// Requests after which a worker's memory is looked at again.
const N_LATER: usize = 100;

/// Classes of the larger application, each with a method.
const N_CLASSES: usize = 500;

fn main() {
    let n: usize = std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(N);
    measure("hello", n, app(&[("index.php", "<?php echo 'Hello, World!';")]));
    measure(
        "classes",
        n,
        app(&[("classes.php", &classes()), ("index.php", "<?php require 'classes.php'; echo C0::f(1);")]),
    );
}

fn classes() -> String {
    let class = |n| {
        format!(
            "class C{n} {{ const NAMES = ['a{n}', 'b']; static function f($x) {{ return $x + {n}; }} }}\n"
        )
    };
    std::iter::once("<?php\n".to_owned()).chain((0..N_CLASSES).map(class)).collect()
}

fn measure(name: &str, n: usize, app: App) {
    let mut host = app.start();
    let request = get("/index.php");
    // Compiles the scripts, and touches what all share.
    let first = start(&mut host, &request);
    leave(&host, first.worker);
    let mut samples = Vec::new();
    while samples.len() < n {
        let started: Vec<Started> = (0..N_TOGETHER).map(|_| start(&mut host, &request)).collect();
        for Started { mut worker, milliseconds, first } in started {
            for _ in 0..N_LATER {
                ask(&host, &mut worker, &request);
            }
            samples.push((milliseconds, first, unshared_kibibytes(worker.pid)));
            leave(&host, worker);
        }
    }
    let of = |part: fn(&(f64, f64, f64)) -> f64| {
        let mut values: Vec<f64> = samples.iter().map(part).collect();
        values.sort_by(f64::total_cmp);
        (values[values.len() / 2], values[values.len() * 99 / 100])
    };
    let ((time, slowest), (first, _), (later, _)) = (of(|it| it.0), of(|it| it.1), of(|it| it.2));
    println!(
        "{name:8} {time:5.2} ms to the first answer, 99th percentile {slowest:5.2} ms; \
         {first:5.0} KiB unshared after one request, {later:5.0} KiB after {N_LATER} more"
    );
}

/// A worker that has answered once.
struct Started {
    worker: Worker,
    milliseconds: f64,
    /// KiB of memory that no other process has.
    first: f64,
}

fn start(host: &mut Host, request: &Request) -> Started {
    let begun = Instant::now();
    let mut worker = host.worker();
    ask(host, &mut worker, request);
    let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
    let first = unshared_kibibytes(worker.pid);
    Started { worker, milliseconds, first }
}

fn ask(host: &Host, worker: &mut Worker, request: &Request) {
    let id = worker.submit(request);
    assert_eq!(worker.answer(host, id, request).status, 200);
}

fn leave(host: &Host, mut worker: Worker) {
    worker.quit();
    host.exit_of(&worker);
}

/// Memory that the kernel counts as private.
fn unshared_kibibytes(pid: u32) -> f64 {
    let sums = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let private = sums.lines().filter(|line| line.starts_with("Private_"));
    private.map(|line| line.split_ascii_whitespace().nth(1).unwrap().parse::<f64>().unwrap()).sum()
}
