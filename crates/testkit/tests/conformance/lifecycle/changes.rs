//! Changes, restarts and rotation: no request is lost.

use corral_testkit::{Load, daemon, eventually, site};
use serde_json::json;

use super::{PROTOTYPE, WORKER, php, php_site};

#[test]
fn no_request_is_lost_while_the_configuration_changes() {
    let site = site().file("index.php", "<?php echo 'x';").file("a.txt", "x");
    let config = |n: u32| {
        json!({
            "routes": [
                { "match": { "uri": "*.txt" }, "action": { "share": format!("{}$uri", site.root()) } },
                { "action": { "pass": "applications/php" } }
            ],
            "applications": { "php": {
                "type": "php", "root": site.root(), "processes": 1 + n % 3, "environment": { "N": n.to_string() }
            } },
            "settings": { "http": { "idle_timeout": 100 + n } },
        })
    };
    let server = daemon().config(config(0)).start();
    let php = Load::start(server.address().socket(), "/", 4);
    let files = Load::start(server.address().socket(), "/a.txt", 2);
    for n in 1..15 {
        server.control().put("/config", &server.with_listener(config(n))).expect_done();
        php.await_more(20);
        files.await_more(20);
    }
    for tally in [php.stop(), files.stop()] {
        assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
    }
    // The old generations' processes go.
    server.expect_processes(WORKER, 3);
    server.expect_processes(PROTOTYPE, 1);
}

#[test]
fn no_request_is_lost_while_an_application_is_restarted() {
    let site = php_site();
    let server = php(&site, 2);
    let load = Load::start(server.address().socket(), "/", 4);
    for _ in 0..5 {
        server.control().get("/control/applications/php/restart").0.expect(200);
        load.await_more(50);
    }
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
    server.expect_processes(WORKER, 2);
}

#[test]
fn logs_are_reopened_for_rotation() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let (log, rotated) = (server.path("log"), server.path("log.1"));
    std::fs::rename(&log, &rotated).expect("rotate the log");
    corral_testkit::signal(server.pid(), corral_testkit::Signal::USR1);
    eventually("the log is opened again", || log.exists().then_some(()));
    server.get("/").expect(200);
}

#[test]
fn an_address_that_was_removed_is_free_when_the_removal_is_answered() {
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let load = Load::start(server.address().socket(), "/", 8);
    let other = corral_testkit::Address::fresh();
    let pointer = format!("/config/listeners/{other}");
    for _ in 0..20 {
        server.control().put(&pointer, &json!({ "pass": "routes" })).expect_done();
        server.control().delete(&pointer).expect_done();
    }
    assert!(load.stop().failures.is_empty());
}
