//! Processes, configurations, restarts.

use std::collections::BTreeSet;
use std::fs;

use corral_testkit::{Load, component, daemon, eventually, site};
use serde_json::json;

use super::{probe, serve};

#[test]
fn processes_share_the_work() {
    let mut app = probe();
    app["processes"] = json!(3);
    let server = serve(&app);
    let workers: BTreeSet<_> = server.expect_processes("\"app\" worker", 3).into_iter().collect();
    let load = Load::start(server.address().socket(), "/hello", 6);
    load.await_more(500);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{:?}\n{}", tally.failures, server.log());
    assert_eq!(server.expect_processes("\"app\" worker", 3).into_iter().collect::<BTreeSet<_>>(), workers);
}

#[test]
fn a_worker_is_replaced_after_its_requests() {
    let mut app = probe();
    app["limits"] = json!({ "requests": 5 });
    let server = serve(&app);
    let load = Load::start(server.address().socket(), "/hello", 2);
    load.await_more(50);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{:?}\n{}", tally.failures, server.log());
}

/// Another component at the same path is used from the restart on, and no request is lost meanwhile.
#[test]
fn a_restart_under_load_loses_nothing() {
    let site = site();
    fs::copy(component("probe"), site.path("app.wasm")).expect("a copy");
    let app = json!({ "type": "wasm-wasi-component", "component": site.path("app.wasm"), "processes": 2 });
    let server = serve(&app);
    let load = Load::start(server.address().socket(), "/hello", 4);
    load.await_more(50);
    fs::copy(component("older"), site.path("app.wasm")).expect("a copy");
    server.control().get("/control/applications/app/restart").0.expect(200);
    eventually("the new one answers", || {
        (server.get("/hello").expect(200).text() == "Hello from WASI 0.2.0\n").then_some(())
    });
    load.await_more(50);
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{:?}\n{}", tally.failures, server.log());
}

/// A worker that is killed takes its own request with it, and nothing else.
#[test]
fn workers_that_die_are_replaced() {
    let server = serve(&probe());
    let worker = server.expect_processes("\"app\" worker", 1)[0];
    server.kill(worker);
    eventually("another one answers", || {
        let new = server.named("\"app\" worker");
        (new.len() == 1 && new[0] != worker).then_some(())
    });
    server.get("/hello").expect(200);
}

/// `/status` names what this runs.
#[test]
fn the_module_is_listed() {
    let server = daemon().start_unconfigured();
    let status = server.control().get("/status").json();
    assert_eq!(status["modules"]["wasm-wasi-component"]["version"], "0.2", "{status}");
}
