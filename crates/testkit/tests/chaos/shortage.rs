//! Descriptors, memory or processes that a running process of the daemon may not have any more: what needs them is
//! refused and tried again now and then, everything else goes on, and all is as before when there are some again.

use std::time::{Duration, Instant};

use corral_testkit::{Address, Signal};
use corral_testkit::{
    Client, Daemon, Request, Resource, Site, daemon, eventually, is_alive, limit, php_app, signal, site,
};
use serde_json::{Value, json};

use super::site::{PROTOTYPE, WORKER};

fn start(n_workers: u32) -> (Site, Daemon) {
    let site = site().file("index.php", "<?php echo 'x';").file("a.txt", "x");
    let routes = json!([
        { "match": { "uri": "*.txt" }, "action": { "share": format!("{}$uri", site.root()) } },
        { "action": { "pass": "applications/php" } },
    ]);
    let server = daemon().application(php_app(&site).processes(n_workers)).routes(routes).start();
    server.expect_processes(WORKER, n_workers as usize);
    (site, server)
}

fn kill(pid: u32) {
    signal(pid, Signal::KILL);
    eventually("it is gone", || (!is_alive(pid)).then_some(()));
}

/// Waits for some more lines with this text, which must take this long at least.
#[track_caller]
fn expect_pauses(server: &Daemon, text: &str, n_more: usize, least: Duration) {
    let count = || server.log().matches(text).count();
    let (before, begun) = (count(), Instant::now());
    eventually("it is tried again", || (count() >= before + n_more).then_some(()));
    assert!(begun.elapsed() >= least, "{n_more} attempts within {:?}\n{}", begun.elapsed(), server.log());
}

fn figures(server: &Daemon) -> Value {
    server.control().get("/status/applications/php").json()
}

#[track_caller]
fn expect_error(server: &Daemon, reason: &str) {
    let figures = figures(server);
    assert!(figures["last_error"].as_str().is_some_and(|error| error.contains(reason)), "{figures}");
}

#[track_caller]
fn expect_recovery(server: &Daemon, client: &mut Client, n_workers: usize) {
    eventually("it serves again", || (client.get("/").status == 200).then_some(()));
    server.expect_processes(WORKER, n_workers);
    server.get("/").expect(200);
    eventually("the error is forgotten", || figures(server).get("last_error").is_none().then_some(()));
}

/// The router cannot take over new workers of an application that has none besides.
#[track_caller]
fn check_router(resource: Resource, most: impl Fn(u32) -> u64, reason: &str) {
    let (_site, server) = start(1);
    let router = server.expect_processes("router", 1)[0];
    let mut client = server.connect();
    client.get("/").expect(200);
    limit(router, resource, Some(most(router)));
    kill(server.expect_processes(WORKER, 1)[0]);
    client.get("/").expect(503);
    eventually("it is told", || server.log().contains(reason).then_some(()));
    expect_error(&server, reason);
    expect_pauses(&server, "killing a worker: ", 2, Duration::from_secs(2));
    client.get("/").expect(503);
    assert_eq!(figures(&server)["processes"]["starting"], 0);
    server.expect_processes(WORKER, 0);
    limit(router, resource, None);
    expect_recovery(&server, &mut client, 1);
    assert_eq!(server.expect_processes("router", 1), [router], "it is the same");
}

#[test]
fn a_router_without_descriptors_has_its_workers_later() {
    check_router(Resource::Descriptors, |_| 0, "take over what a worker is reached by");
}

#[test]
fn a_router_without_memory_has_its_workers_later() {
    check_router(Resource::Addresses, address_space, "map a worker's memory");
}

/// Less than it has mapped, in bytes, even when a worker's channel has been given back.
fn address_space(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).expect("it has memory");
    let kib: u64 = line.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number");
    (kib - 1024) * 1024
}

/// The prototype's bell cannot be taken over, without which the router would not hear the workers.
#[test]
fn a_router_without_descriptors_has_a_new_prototype_later() {
    let (_site, server) = start(1);
    let router = server.expect_processes("router", 1)[0];
    let mut client = server.connect();
    client.get("/").expect(200);
    limit(router, Resource::Descriptors, Some(0));
    kill(server.expect_processes(PROTOTYPE, 1)[0]);
    server.expect_log("the router cannot use its processes");
    eventually("it is told", || (client.get("/").status == 503).then_some(()));
    limit(router, Resource::Descriptors, None);
    expect_recovery(&server, &mut client, 1);
}

#[test]
fn a_router_without_descriptors_refuses_listeners() {
    let (_site, server) = start(1);
    let router = server.expect_processes("router", 1)[0];
    limit(router, Resource::Descriptors, Some(0));
    let address = format!("/config/listeners/{}", Address::fresh());
    let pass = json!({ "pass": "routes" });
    let reply = server.control().put(&address, &pass).0.expect(500);
    assert!(reply.text().contains("no descriptor is left"), "{reply}");
    limit(router, Resource::Descriptors, None);
    server.get("/").expect(200);
    server.control().put(&address, &pass).expect_done();
    assert_eq!(server.expect_processes("router", 1), [router], "it is the same");
}

/// Only the number of processes of an unprivileged user is bounded, and a daemon that root has started runs its
/// applications as one.
#[test]
fn a_prototype_that_may_not_fork_is_asked_again_later() {
    let (_site, server) = start(2);
    let prototype = server.expect_processes(PROTOTYPE, 1)[0];
    let mut client = server.connect();
    limit(prototype, Resource::Processes, Some(0));
    kill(server.expect_processes(WORKER, 2)[0]);
    let reason = "fork a worker: Resource temporarily unavailable";
    server.expect_log(reason);
    expect_error(&server, reason);
    expect_pauses(&server, reason, 2, Duration::from_secs(2));
    for _ in 0..100 {
        client.get("/").expect(200);
    }
    kill(server.expect_processes(WORKER, 1)[0]);
    eventually("nobody serves", || (client.get("/").status == 503).then_some(()));
    let before = server.log().matches(reason).count();
    for _ in 0..100 {
        client.get("/").expect(503);
    }
    assert!(server.log().matches(&format!("application \"php\": {reason}")).count() <= before + 2);
    client.get("/a.txt").expect(200);
    limit(prototype, Resource::Processes, None);
    expect_recovery(&server, &mut client, 2);
    assert_eq!(server.expect_processes(PROTOTYPE, 1), [prototype], "it is the same");
}

/// The reply says at once that an application cannot start for want of processes; the client does not wait for a
/// timeout.
#[test]
fn a_change_that_needs_more_processes_than_there_may_be_is_refused_at_once() {
    if !rustix::process::geteuid().is_root() {
        eprintln!(
            "skipped: only as root the daemon has a user of its own, whose processes nothing but it starts"
        );
        return;
    }
    let (site, server) = start(1);
    let app = json!({ "type": "php", "root": site.root() });
    let python = json!({ "type": "python", "path": site.root(), "module": "app" });
    let program = json!({ "type": "http", "executable": "/bin/sh", "arguments": ["-c", "true"] });
    limit(server.pid(), Resource::Processes, Some(0));
    for (path, value) in [
        ("/config/applications/other", &app),
        ("/config/applications/python", &python),
        ("/config/applications/program", &program),
        ("/config/settings", &json!({ "listen_threads": 7 })),
    ] {
        let begun = Instant::now();
        let reply = server.control().put(path, value).0.expect(500);
        assert!(reply.text().contains("Resource temporarily unavailable"), "{path}: {reply}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{path}: {:?}", begun.elapsed());
    }
    server.get("/").expect(200);
    limit(server.pid(), Resource::Processes, None);
    // An image of PHP that was started meanwhile has the limit of that time, and its copies have today's.
    server.control().put("/config/applications/other", &app).expect_done();
    server.get("/").expect(200);
}

/// New prototypes have as much as main may have, or as the one before.
#[test]
fn a_main_process_without_descriptors_refuses_changes_and_goes_on() {
    let (site, server) = start(2);
    let mut client = server.connect();
    let before = server.control().get("/config").json();
    limit(server.pid(), Resource::Descriptors, Some(0));
    let refused = |path: &str, value: &Value, reason: &str| {
        let reply = server.control().put(path, value).0.expect(500);
        assert!(reply.text().contains(reason), "{reply}");
    };
    let listener = format!("/config/listeners/{}", Address::fresh());
    let pass = json!({ "pass": "routes" });
    let app = json!({ "type": "php", "root": site.root() });
    let bound = "the limit of open files (LimitNOFILE= of the service, ulimit -n) carries 0 at most";
    refused(&listener, &pass, "Too many open files");
    refused("/config/applications/other", &app, bound);
    assert_eq!(server.control().get("/config").json(), before);
    let workers = server.expect_processes(WORKER, 2);
    kill(workers[0]);
    server.expect_log("no descriptor is left for what it is reached by");
    assert_eq!(server.expect_processes(WORKER, 1), workers[1..], "the other one is not touched");
    client.get("/").expect(200);
    client.get("/a.txt").expect(200);
    limit(server.pid(), Resource::Descriptors, None);
    expect_recovery(&server, &mut client, 2);
    server.control().put(&listener, &pass).expect_done();
    server.control().put("/config/applications/other", &app).expect_done();
}

#[test]
fn a_main_process_without_descriptors_starts_its_children_again_later() {
    let (_site, server) = start(1);
    limit(server.pid(), Resource::Descriptors, Some(0));
    for name in ["router", "controller", PROTOTYPE] {
        server.kill(server.expect_processes(name, 1)[0]);
    }
    expect_pauses(&server, "start the router: ", 8, Duration::from_millis(600));
    let n_lines = server.log().matches("application \"php\": open the host executable").count();
    assert!((1..12).contains(&n_lines), "{}", server.log());
    limit(server.pid(), Resource::Descriptors, None);
    eventually("all is as before", || {
        let reply = Client::try_connect(server.address().socket()).ok()?.try_send(&Request::get("/")).ok()?;
        (reply.status == 200).then_some(())
    });
    eventually("the control API answers", || {
        server.control().try_send(&Request::get("/config")).is_ok().then_some(())
    });
}

#[test]
fn a_daemon_can_have_few_descriptors() {
    let site = site().file("index.php", "<?php echo 'x';");
    let server = daemon().descriptors(64).application(php_app(&site)).start();
    server.get("/").expect(200).expect_body("x");
    assert!(!server.log().contains("Invalid argument"), "{}", server.log());
}
