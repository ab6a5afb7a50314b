//! Queues in front of applications: requests that wait, for how long, and those that are given up.

use corral_testkit::{Daemon, Request, Site, daemon, php_app, site};
use serde_json::{Value, json};

use super::{eventually, expect_sample, samples};

/// Runs until the test says that it may end.
const HELD: &str =
    "<?php while (!file_exists(__DIR__ . '/release')) { usleep(1000); clearstatcache(); } echo 'held';";

const WAITING: &str = "corral_application_requests_waiting{application=\"php\"}";
const WAITED: &str = "corral_application_queue_duration_seconds_count{application=\"php\"}";

/// An application with one process and these limits.
fn start(limits: Value) -> (Site, Daemon) {
    let site = site().file("ok.php", "<?php echo 'ok';").file("held.php", HELD);
    let server = daemon().application(php_app(&site).processes(1).with("limits", limits)).start();
    (site, server)
}

#[track_caller]
fn expect_active(server: &Daemon, n: u64) {
    eventually("the requests have arrived", || {
        let active = server.control().get("/status/applications/php/requests/active").json();
        (active == n).then_some(())
    });
}

#[track_caller]
fn expect_refused(server: &Daemon, reason: &str, n: f64) {
    let name = "corral_application_refused_requests_total";
    expect_sample(server, &format!("{name}{{application=\"php\",reason=\"{reason}\"}}"), n);
    expect_sample(server, &format!("corral_refused_requests_total{{reason=\"{reason}\"}}"), n);
}

#[test]
fn requests_wait_until_the_queue_is_full() {
    let (site, server) = start(json!({ "queue": 1 }));
    server.get("/ok.php").expect(200);
    expect_sample(&server, WAITED, 1.0);
    let mut first = server.begin(&Request::get("/held.php"));
    expect_active(&server, 1);
    expect_sample(&server, WAITING, 0.0);
    let mut second = server.begin(&Request::get("/ok.php"));
    expect_sample(&server, WAITING, 1.0);
    let requests = || server.control().get("/status/applications/php/requests").json();
    assert_eq!(requests()["waiting"], 1, "{}", requests());
    server.get("/ok.php").expect(503);
    expect_refused(&server, "queue_full", 1.0);
    site.write("release", "");
    first.read_response().expect(200);
    second.read_response().expect(200);
    expect_sample(&server, WAITED, 3.0);
    expect_sample(&server, WAITING, 0.0);
    assert_eq!(requests().get("waiting"), None, "{}", requests());
    // One has waited while the status was read, if for nothing else, and one was handed over at once.
    let samples = samples(&server);
    let bucket = |bound: &str| {
        let bucket = "corral_application_queue_duration_seconds_bucket";
        samples[&format!("{bucket}{{le=\"{bound}\",application=\"php\"}}")]
    };
    assert!((1.0..=2.0).contains(&bucket("0.0005")), "{}", bucket("0.0005"));
    assert_eq!((bucket("60.0"), bucket("+Inf")), (3.0, 3.0));
}

#[test]
fn requests_do_not_wait_for_ever() {
    let (site, server) = start(json!({ "queue_timeout": 1 }));
    let mut first = server.begin(&Request::get("/held.php"));
    expect_active(&server, 1);
    server.get("/ok.php").expect(503);
    expect_refused(&server, "queue_timeout", 1.0);
    site.write("release", "");
    first.read_response().expect(200);
    // The other one has waited for nothing.
    expect_sample(&server, WAITED, 1.0);
}

/// The request may be refused for another reason already, which is the one that counts for the whole server.
#[test]
fn an_application_that_is_to_answer_for_a_refusal_counts_its_own() {
    let site = site().file("ok.php", "<?php echo 'ok';").file("held.php", HELD);
    let limited = json!({
        "return": 200,
        "limit_requests": { "rate": "1/h", "burst": 0 },
        "errors": { "429": { "pass": "applications/php" } }
    });
    let routes = json!([
        { "match": { "uri": "/limited" }, "action": limited },
        { "action": { "pass": "applications/php" } }
    ]);
    let app = php_app(&site).processes(1).with("limits", json!({ "queue": 0 }));
    let server = daemon().application(app).routes(routes).start();
    server.get("/limited").expect(200);
    let mut first = server.begin(&Request::get("/held.php"));
    expect_active(&server, 1);
    server.get("/limited").expect(429);
    let refused = "corral_application_refused_requests_total";
    expect_sample(&server, &format!("{refused}{{application=\"php\",reason=\"queue_full\"}}"), 1.0);
    expect_sample(&server, "corral_refused_requests_total{reason=\"limit\"}", 1.0);
    site.write("release", "");
    first.read_response().expect(200);
}

/// A request whose worker dies has waited for it all the same.
#[test]
fn requests_of_workers_that_die_have_waited() {
    let (_site, server) = start(json!({}));
    let mut held = server.begin(&Request::get("/held.php"));
    let [worker] = server.expect_processes("\"php\" worker", 1)[..] else { unreachable!("there is one") };
    // One that its process has not begun would go to the next one.
    eventually("it runs", || {
        let workers = server.control().get("/control/applications/php/workers").json();
        workers[worker.to_string()].get("request").map(|_| ())
    });
    server.kill(worker);
    held.read_response().expect(503);
    expect_sample(&server, WAITED, 1.0);
}

/// An instance that takes the place of another goes on counting.
#[test]
fn a_restarted_application_goes_on() {
    let (_site, server) = start(json!({}));
    let total = "corral_application_requests_total{application=\"php\",status=\"2xx\"}";
    for n in [1.0, 2.0] {
        server.get("/ok.php").expect(200);
        expect_sample(&server, total, n);
    }
    let before = server.expect_processes("\"php\" worker", 1);
    server.control().get("/control/applications/php/restart").0.expect(200);
    eventually("it has other processes", || {
        (server.expect_processes("\"php\" worker", 1) != before).then_some(())
    });
    server.get("/ok.php").expect(200);
    expect_sample(&server, total, 3.0);
    expect_sample(&server, WAITED, 3.0);
}

/// Without a process, and without one to come.
mod http1_only {
    use super::*;

    #[test]
    fn an_application_that_cannot_start_refuses() {
        let mut server = daemon().start_unconfigured();
        server.stop();
        let missing = server.path("nonexistent");
        let applications = json!({ "php": { "type": "php", "root": missing } });
        let config = server.with_listener(json!({ "applications": applications }));
        std::fs::write(server.path("state/conf.json"), config.to_string()).expect("write the document");
        server.restart();
        server.get("/").expect(503);
        expect_refused(&server, "no_worker", 1.0);
        assert!(!samples(&server).contains_key(WAITED), "nothing was handed over");
    }
}
