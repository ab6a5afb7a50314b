//! Servers of upstreams: how long they take, what is sent again, and the connections that are kept.

use corral_testkit::{Daemon, Origin, Request, daemon};
use serde_json::{Value, json};

use super::{eventually, expect_sample, samples};

/// A daemon with one event loop, whose requests all go to the upstream `pool`.
fn start(pool: Value) -> Daemon {
    let config = json!({
        "settings": { "listen_threads": 1 },
        "upstreams": { "pool": pool },
        "routes": [{ "action": { "pass": "upstreams/pool" } }]
    });
    daemon().config(config).start()
}

fn of_server(family: &str, server: &str) -> String {
    format!("corral_upstream_{family}{{upstream=\"pool\",server=\"{server}\"}}")
}

#[test]
fn times_and_kept_connections_are_counted() {
    let origin = Origin::saying("x");
    let server = start(json!({ "servers": { origin.address(): {} } }));
    let name = |family: &str| of_server(family, &origin.address());
    assert!(!samples(&server).contains_key(&name("connect_duration_seconds_count")), "it was not asked");
    for _ in 0..3 {
        server.get("/").expect(200);
    }
    for (family, n) in [
        ("requests_total", 3.0),
        ("response_duration_seconds_count", 3.0),
        ("connect_duration_seconds_count", 1.0),
        ("connections_kept", 1.0),
        ("retries_total", 0.0),
    ] {
        expect_sample(&server, &name(family), n);
    }
    assert_eq!(origin.n_connections(), 1);
    // Other options make another server of it, which goes on counting.
    let pool = json!({ "servers": { origin.address(): {} }, "timeouts": { "connect": 7 } });
    server.control().put("/config/upstreams/pool", &pool).expect_done();
    server.get("/").expect(200);
    expect_sample(&server, &name("requests_total"), 4.0);
    expect_sample(&server, &name("response_duration_seconds_count"), 4.0);
}

#[test]
fn requests_that_are_sent_again_are_counted_where_they_failed() {
    let origin = Origin::saying("x");
    let server = start(json!({ "servers": { "127.0.0.1:1": {}, origin.address(): {} } }));
    for _ in 0..4 {
        server.get("/").expect(200);
    }
    expect_sample(&server, &of_server("response_duration_seconds_count", &origin.address()), 4.0);
    let samples = samples(&server);
    let retries = samples[&of_server("retries_total", "127.0.0.1:1")];
    assert!((1.0..=2.0).contains(&retries), "{retries}");
    assert_eq!(samples[&of_server("failures_total", "127.0.0.1:1")], retries);
    assert_eq!(samples[&of_server("retries_total", &origin.address())], 0.0);
    assert!(!samples.contains_key(&of_server("response_duration_seconds_count", "127.0.0.1:1")));
}

/// The other server is not asked: nothing is sent again.
#[test]
fn requests_that_find_no_other_server_are_not_sent_again() {
    let server = start(json!({ "servers": { "127.0.0.1:1": {}, "127.0.0.1:2": { "down": true } } }));
    server.get("/").expect(502);
    expect_sample(&server, &of_server("failures_total", "127.0.0.1:1"), 1.0);
    expect_sample(&server, &of_server("retries_total", "127.0.0.1:1"), 0.0);
}

#[test]
fn requests_that_find_no_room_are_refused() {
    let silent = Origin::start(|peer| while !peer.read().is_empty() {});
    let server = start(json!({ "servers": { silent.address(): { "max_conns": 1 } } }));
    let held = server.begin(&Request::get("/"));
    expect_sample(&server, &of_server("requests_in_progress", &silent.address()), 1.0);
    server.get("/").expect(503);
    expect_sample(&server, "corral_refused_requests_total{reason=\"queue_full\"}", 1.0);
    drop(held);
    let pool = json!({
        "servers": { silent.address(): { "max_conns": 1 } },
        "queue": { "size": 5, "timeout": 1 }
    });
    server.control().put("/config/upstreams/pool", &pool).expect_done();
    eventually("the place is free", || {
        (samples(&server)[&of_server("requests_in_progress", &silent.address())] == 0.0).then_some(())
    });
    let _held = server.begin(&Request::get("/"));
    expect_sample(&server, &of_server("requests_in_progress", &silent.address()), 1.0);
    server.get("/").expect(503);
    expect_sample(&server, "corral_refused_requests_total{reason=\"queue_timeout\"}", 1.0);
}
