//! Components that run for too long, or want too much.

use std::time::{Duration, Instant};

use corral_testkit::Request;
use serde_json::{Value, json};

use super::{probe, serve};

/// Neither a loop nor a long sleep holds the worker, which stays.
#[track_caller]
fn check_ended(limits: &Value, target: &str, status: u16, log: &str) {
    let mut app = probe();
    app["limits"] = limits.clone();
    let server = serve(&app);
    let worker = server.expect_processes("\"app\" worker", 1);
    let begun = Instant::now();
    server.get(target).expect(status);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    server.expect_log(log);
    server.get("/hello").expect(200);
    // The router may be the first to find that one has run for too long, and then it kills the worker.
    if status == 503 {
        assert_eq!(server.expect_processes("\"app\" worker", 1), worker, "the worker was replaced");
    }
}

#[test]
fn a_component_that_nobody_waits_for_any_more_is_ended() {
    for target in ["/spin", "/sleep"] {
        check_ended(&json!({ "timeout": 1 }), target, 503, "its client no longer waits (limits.timeout)");
    }
}

#[test]
fn a_component_that_takes_too_long_is_ended() {
    for target in ["/spin", "/sleep"] {
        check_ended(&json!({ "kill_after": 1 }), target, 504, "(limits.kill_after)");
    }
}

/// Responses that take their time are none that take too long.
#[test]
fn limits_leave_others_alone() {
    let mut app = probe();
    app["limits"] = json!({ "timeout": 1, "kill_after": 30 });
    let server = serve(&app);
    server.get("/ticks?n=4&ms=500").expect(200).expect_body("tick 0\ntick 1\ntick 2\ntick 3\n");
    server.send(&Request::post("/count").body(vec![1; 5_000_000])).expect(200).expect_body("5000000 5000000");
}

#[test]
fn memory_is_refused_before_the_worker_is_killed() {
    let mut app = probe();
    app["limits"] = json!({ "memory": { "hard": 64 << 20 } });
    let server = serve(&app);
    let worker = server.expect_processes("\"app\" worker", 1);
    server.get("/grow?mib=40").expect(200);
    server.get("/grow?mib=100").expect(500);
    server.expect_log("after it was refused memory (limits.memory)");
    server.get("/grow?mib=40").expect(200);
    assert_eq!(server.expect_processes("\"app\" worker", 1), worker, "the worker was replaced");
}

#[test]
fn without_a_limit_a_component_may_have_much() {
    let server = serve(&probe());
    for _ in 0..3 {
        server.get("/grow?mib=300").expect(200).expect_body("76800 pages\n");
    }
}
