//! `/status`, `corral status --json` and `/metrics` never disagree.

use std::collections::HashMap;

use corral_testkit::{Daemon, Origin, Request, daemon, eventually, php_app, site};
use serde_json::{Value, json};

use crate::tool::Tool;

/// Samples of `/metrics` by their names and labels.
fn samples(server: &Daemon) -> HashMap<String, f64> {
    let text = server.control().send(&Request::get("/metrics")).0.expect(200).text();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        (name.to_owned(), value.parse().expect("a number"))
    };
    lines.map(sample).collect()
}

/// The status as the command prints it.
fn told_by_command(server: &Daemon) -> Value {
    let told = Tool::new(&["status", "--json", "--control", &server.control_address()]).output();
    serde_json::from_str(&told).expect("it is JSON")
}

/// The status without what goes on by itself.
fn at_rest(mut status: Value) -> Value {
    status["daemon"]["uptime"] = json!(null);
    // A process may have freed memory meanwhile.
    for application in status["applications"].as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
        application["memory"] = json!(null);
    }
    status
}

/// The series that are figures of `/status`, each with its place there.
fn series(status: &Value, origin: &str) -> Vec<(String, Value)> {
    let of_limit = |result: &str| {
        format!(
            "corral_limit_requests_total{{limit=\"/routes/0/action/limit_requests\",result=\"{result}\"}}"
        )
    };
    let limit = &status["limits"]["/routes/0/action/limit_requests"];
    let app = &status["applications"]["php"];
    let server = &status["upstreams"]["pool"]["servers"][origin];
    let of_server = |name: &str| format!("corral_upstream_{name}{{upstream=\"pool\",server=\"{origin}\"}}");
    let processes =
        |state: &str| format!("corral_application_processes{{application=\"php\",state=\"{state}\"}}");
    vec![
        ("corral_connections_accepted_total".to_owned(), status["connections"]["accepted"].clone()),
        ("corral_connections_closed_total".to_owned(), status["connections"]["closed"].clone()),
        ("corral_connections{state=\"active\"}".to_owned(), status["connections"]["active"].clone()),
        ("corral_connections{state=\"idle\"}".to_owned(), status["connections"]["idle"].clone()),
        ("corral_requests_total".to_owned(), status["requests"]["total"].clone()),
        (processes("running"), app["processes"]["running"].clone()),
        (processes("starting"), app["processes"]["starting"].clone()),
        (processes("idle"), app["processes"]["idle"].clone()),
        (
            "corral_application_requests_in_progress{application=\"php\"}".to_owned(),
            app["requests"]["active"].clone(),
        ),
        (
            "corral_application_request_duration_seconds_count{application=\"php\"}".to_owned(),
            app["requests"]["total"].clone(),
        ),
        (
            "corral_application_requests_total{application=\"php\",status=\"5xx\"}".to_owned(),
            app["requests"]["failed"].clone(),
        ),
        ("corral_application_crashes_total{application=\"php\"}".to_owned(), app["crashes"]["total"].clone()),
        (of_server("requests_total"), server["requests"]["total"].clone()),
        (of_server("failures_total"), server["requests"]["failed"].clone()),
        (of_limit("passed"), limit["passed"].clone()),
        (of_limit("refused"), limit["refused"].clone()),
    ]
}

#[test]
fn all_three_say_the_same_at_rest() {
    let files = "<?php if ($_GET['s'] === 'crash') { posix_kill(getmypid(), 9); } http_response_code((int) $_GET['s']);";
    let site = site().file("index.php", files);
    let origin = Origin::saying("x");
    let server = daemon().application(php_app(&site).processes(2)).start();
    let routes = json!([
        {
            "match": { "uri": "/limited" },
            "action": { "return": 204, "limit_requests": { "rate": "1/h", "burst": 1 } },
        },
        { "match": { "uri": "/pool" }, "action": { "pass": "upstreams/pool" } },
        { "action": { "pass": "applications/php" } },
    ]);
    server
        .control()
        .put("/config/upstreams", &json!({ "pool": { "servers": { origin.address(): {} } } }))
        .expect_done();
    server.control().put("/config/routes", &routes).expect_done();
    let listener = format!("/config/listeners/{}/pass", server.address());
    server.control().put(&listener, &json!("routes")).expect_done();
    for (target, n) in
        [("/?s=200", 3), ("/?s=500", 2), ("/?s=404", 1), ("/?s=crash", 1), ("/pool", 2), ("/limited", 4)]
    {
        (0..n).for_each(|_| drop(server.get(target)));
    }
    let address = origin.address();
    eventually("all three agree", || {
        let status = server.control().get("/status").json();
        let samples = samples(&server);
        if status["applications"]["php"]["processes"]["idle"] != 2 {
            return None;
        }
        let commanded = told_by_command(&server);
        if at_rest(status.clone()) != at_rest(commanded) {
            return None;
        }
        let series = series(&status, &address);
        let agree = series.iter().all(|(name, value)| samples.get(name).copied() == value.as_f64());
        agree.then_some(())
    });
    // Each of them has something to say.
    let status = server.control().get("/status").json();
    assert!(series(&status, &address).iter().all(|(_, value)| value.is_u64()), "{status:#}");
    assert_eq!(status["applications"]["php"]["requests"]["failed"], 3);
    assert_eq!(status["limits"]["/routes/0/action/limit_requests"]["refused"], 2);
}
