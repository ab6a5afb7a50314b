//! How many processes an application has, and when they come and go.

use std::time::{Duration, Instant};

use corral_testkit::{Load, daemon, eventually, is_alive, php_app, site};
use serde_json::json;

use super::{PROTOTYPE, WORKER, php_site};

/// Options: applications.{N}.processes.{max,spare,idle_timeout}
#[test]
fn processes_grow_on_demand_and_shrink_when_idle() {
    let site = site().file("index.php", "<?php usleep(200000); echo getmypid();");
    let app = php_app(&site).with("processes", json!({ "max": 4, "spare": 1, "idle_timeout": 1 }));
    let server = daemon().application(app).start();
    server.expect_processes(WORKER, 1);
    let load = Load::start(server.address().socket(), "/", 4);
    server.expect_processes(WORKER, 4);
    assert!(load.stop().failures.is_empty());
    server.expect_processes(WORKER, 1);
}

/// Processes that start before there are requests are the spare ones, and no further one is asked for meanwhile.
///
/// Options: applications.{N}.processes.spare
#[test]
fn as_many_spare_processes_start_as_there_are_to_be() {
    let site = php_site();
    let app = php_app(&site).with("processes", json!({ "max": 8, "spare": 2 }));
    let server = daemon().application(app).start();
    let expect_two = || {
        server.expect_processes(WORKER, 2);
        // What is asserted is that no third one comes: it would be asked for at once, or a second later.
        std::thread::sleep(Duration::from_millis(1300));
        server.expect_processes(WORKER, 2);
        let processes = server.control().get("/status/applications/php/processes").json();
        assert_eq!(processes, json!({ "running": 2, "starting": 0, "idle": 2 }));
    };
    expect_two();
    server.control().get("/control/applications/php/restart").0.expect(200);
    expect_two();
    let router = server.expect_processes("router", 1)[0];
    corral_testkit::signal(router, corral_testkit::Signal::KILL);
    eventually("another router serves", || (server.named("router").first() != Some(&router)).then_some(()));
    expect_two();
}

/// Also when it has become idle just after the last look, and when it is not to be kept at all.
///
/// Options: applications.{N}.processes.idle_timeout
#[test]
fn an_idle_process_is_gone_in_time() {
    let site = php_site();
    for (idle_timeout, after) in [(0, 0), (1, 0), (1, 300), (1, 700), (2, 500)] {
        let processes = json!({ "max": 2, "spare": 0, "idle_timeout": idle_timeout });
        let server = daemon().application(php_app(&site).with("processes", processes)).start();
        let mut client = server.connect();
        let worker: u32 = client.get("/").expect(200).text().parse().expect("it says its number");
        std::thread::sleep(Duration::from_millis(after));
        // The same one answers if it is still there.
        let worker =
            if idle_timeout == 0 { worker } else { client.get("/").text().parse().expect("a number") };
        let idle = Instant::now();
        eventually("it is gone", || (!is_alive(worker)).then_some(()));
        let lived = idle.elapsed();
        let expected = Duration::from_secs(idle_timeout);
        // A process needs a moment to end, on a busy machine a longer one.
        let latest = expected + Duration::from_millis(400);
        assert!(
            (expected..latest).contains(&(lived + Duration::from_millis(20))),
            "{idle_timeout}: {lived:?}"
        );
    }
}

#[test]
fn an_application_without_spare_processes_starts_with_its_first_request() {
    let site = php_site();
    let app = php_app(&site).with("processes", json!({ "max": 2, "spare": 0, "idle_timeout": 1 }));
    let server = daemon().application(app).start();
    assert_eq!(server.named(WORKER).len(), 0);
    server.get("/").expect(200);
    server.expect_processes(WORKER, 0);
    server.get("/").expect(200);
    server.expect_processes(WORKER, 0);
    server.expect_processes(PROTOTYPE, 0);
    server.get("/").expect(200);
    assert_eq!(server.control().get("/status/applications/php").json().get("crashes"), None);
}
