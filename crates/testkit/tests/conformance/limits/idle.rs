//! A daemon without requests does nothing: no process of it wakes up.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use corral_testkit::{Daemon, Site, daemon, eventually, is_alive, private_memory, site};
use serde_json::{Value, json};

/// How long it is watched.
const SPAN: Duration = Duration::from_secs(10);

fn applications(site: &Site, n: usize) -> Value {
    let app = json!({ "type": "php", "root": site.root(), "script": "index.php" });
    (0..n).map(|n| (format!("app{n}"), app.clone())).collect()
}

/// How often each thread of the daemon has gone to sleep of its own accord.
fn switches(server: &Daemon) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let processes = server.processes().into_iter().map(|process| (process.pid, process.name));
    for (pid, name) in processes.chain([(server.pid(), "main".to_owned())]) {
        for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let Ok(status) = fs::read_to_string(task.path().join("status")) else { continue };
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            let n = line.and_then(|n| n.trim().parse().ok()).unwrap_or_default();
            found.insert(format!("{name} {pid} {}", task.file_name().to_string_lossy()), n);
        }
    }
    found
}

/// How often threads were woken within a span of time.
fn wakes(server: &Daemon, span: Duration) -> BTreeMap<String, u64> {
    let before = switches(server);
    // What is asserted is that nothing happens in a time.
    std::thread::sleep(span);
    let after = switches(server);
    let wakes = after.into_iter().map(|(task, n)| {
        let n = n - before.get(&task).copied().unwrap_or_default();
        (task, n)
    });
    wakes.filter(|(_, n)| *n > 0).collect()
}

/// Nothing is due: what remains is a moment of what was done before.
#[track_caller]
fn expect_idle(server: &Daemon, most: u64) {
    // Connections of the configuration are closed, and what was done once a second finds nothing to do.
    let begun = Instant::now();
    loop {
        let wakes = wakes(server, SPAN);
        let n: u64 = wakes.values().sum();
        eprintln!("{n} in {SPAN:?}: {wakes:?}");
        if n <= most {
            return;
        }
        assert!(begun.elapsed() < 4 * SPAN, "{n} in {SPAN:?}: {wakes:?}\n{}", server.log());
    }
}

#[test]
fn a_daemon_that_nobody_asks_for_anything_sleeps() {
    const N_APPLICATIONS: usize = 100;
    let site = site().file("index.php", "<?php echo 'x';");
    let server = daemon()
        .config(json!({
            "applications": applications(&site, N_APPLICATIONS),
            "routes": [{ "action": { "pass": "applications/app0" } }],
            "settings": { "listen_threads": 2 },
        }))
        .start();
    for _ in 0..100 {
        server.get("/").expect(200).expect_body("x");
    }
    expect_idle(&server, 3);
    server.get("/").expect(200).expect_body("x");
}

/// The kernel tells the reader of configuration files when they have changed.
#[test]
fn a_reader_that_watches_files_sleeps() {
    // Folders of temporary files change all the time, and files on the way to the configuration would be heard of.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("make a folder");
    let path = folder.path().join("site.json");
    fs::write(&path, r#"{ "routes": [{ "action": { "return": 200 } }] }"#).expect("write the file");
    let path = path.to_str().expect("paths here are text");
    let server = daemon().argument("--config").argument(path).argument("--watch").start_unconfigured();
    expect_idle(&server, 3);
    server.expect_processes("reader", 1);
}

/// An allocator that asks for huge pages takes megabytes that are never used.
#[test]
fn processes_beside_the_router_take_little_memory() {
    let server = daemon().start_unconfigured();
    let controller = server.expect_processes("controller", 1)[0];
    for pid in [server.pid(), controller] {
        let n = private_memory(pid).expect("it runs");
        assert!(n < 4 << 20, "{pid} has {n} bytes");
    }
}

/// No process has to look whether it is still there: also a worker that runs a script ends at once.
#[test]
fn workers_end_with_their_prototype() {
    let sleep = "<?php if (isset($_GET['sleep'])) sleep(60); echo getmypid();";
    let site = site().file("index.php", sleep);
    let app = json!({ "type": "php", "root": site.root(), "script": "index.php", "processes": 2 });
    let server = daemon()
        .config(json!({
            "applications": { "php": app },
            "routes": [{ "action": { "pass": "applications/php" } }],
        }))
        .start();
    let workers = server.expect_processes("\"php\" worker", 2);
    let mut running = server.connect();
    running.write("GET /?sleep HTTP/1.1\r\nHost: a\r\n\r\n");
    eventually("it runs", || {
        let status = server.control().get("/status/applications/php").json();
        (status["requests"]["active"] == 1).then_some(())
    });
    let prototype = server.expect_processes("\"php\" prototype", 1)[0];
    // Main cannot help: it is stopped, and a child of a prototype that is gone is its own.
    corral_testkit::stop(server.pid());
    corral_testkit::signal(prototype, corral_testkit::Signal::KILL);
    let begun = Instant::now();
    eventually("they end", || workers.iter().all(|pid| !is_alive(*pid)).then_some(()));
    corral_testkit::signal(server.pid(), corral_testkit::Signal::CONT);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    eventually("others serve", || (server.get("/").status == 200).then_some(()));
}
