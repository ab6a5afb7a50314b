//! Requests that the router refuses itself, by the reason.

use std::collections::HashMap;
use std::process::Command;

use corral_testkit::{Daemon, Request, daemon, site};
use serde_json::{Value, json};

use super::{eventually, samples};

/// Waits until so many requests have been refused for this reason, and none for another one.
#[track_caller]
fn expect_refused(server: &Daemon, reason: &str, n: f64) {
    let refused = |samples: &HashMap<String, f64>| -> Vec<(String, f64)> {
        let refused =
            samples.iter().filter(|(name, n)| name.contains("_refused_requests_total{reason") && **n > 0.0);
        refused.map(|(name, n)| (name.clone(), *n)).collect()
    };
    let expected = vec![(format!("corral_refused_requests_total{{reason=\"{reason}\"}}"), n)];
    eventually(reason, || (refused(&samples(server)) == expected).then_some(()));
}

fn serve(action: Value) -> Daemon {
    daemon().routes(json!([{ "action": action }])).start()
}

#[test]
fn limits_and_maintenance() {
    let server = serve(json!({ "return": 200, "limit_requests": { "rate": "1/h", "burst": 1 } }));
    for status in [200, 200, 429, 429] {
        server.get("/").expect(status);
    }
    expect_refused(&server, "limit", 2.0);
    let server = serve(json!({ "return": 200, "maintenance": true }));
    server.get("/").expect(503);
    expect_refused(&server, "maintenance", 1.0);
}

/// A limit in a dry run, and statuses that the configuration says itself, refuse nothing.
#[test]
fn what_is_not_refused_does_not_count() {
    let limit = json!({ "rate": "1/h", "burst": 0, "dry_run": true });
    let server = serve(json!({ "return": 429, "limit_requests": limit }));
    for _ in 0..3 {
        server.get("/").expect(429);
    }
    expect_none(&server);
}

#[track_caller]
fn expect_none(server: &Daemon) {
    let found = samples(server);
    let refused = found.iter().filter(|(name, _)| name.starts_with("corral_refused_requests_total"));
    assert!(
        refused.clone().count() > 5 && refused.clone().all(|(_, n)| *n == 0.0),
        "{:?}",
        refused.collect::<Vec<_>>()
    );
}

/// Where something else is to answer in the place of the error, and refuses it as well.
#[test]
fn a_request_is_refused_once() {
    let closed = json!({ "return": 200, "maintenance": true });
    let limit = json!({ "rate": "1/h", "burst": 0 });
    let server = serve(json!({ "return": 200, "limit_requests": limit, "errors": { "429": closed } }));
    server.get("/").expect(200);
    assert_ne!(server.get("/").status, 200);
    expect_refused(&server, "limit", 1.0);
}

#[test]
fn clients_that_are_not_known() {
    let made = Command::new("htpasswd").args(["-nbBC", "5", "alice", "secret"]).output();
    let users = site().file("users", made.expect("htpasswd is installed").stdout);
    let authenticate = json!({ "basic": { "file": users.path("users"), "realm": "Staff" } });
    let server = serve(json!({ "return": 200, "authenticate": authenticate }));
    server.get("/").expect(401);
    server.send(&Request::get("/").field("Authorization", "Basic bWFsbG9yeTp4")).expect(401);
    expect_refused(&server, "authentication", 2.0);
}

#[test]
fn bodies_that_are_too_large() {
    let server = daemon()
        .routes(json!([{ "action": { "return": 200 } }]))
        .http(json!({ "max_body_size": 10 }))
        .start();
    server.send(&Request::post("/").body(vec![b'x'; 11])).expect(413);
    server.send(&Request::post("/").body(vec![b'x'; 10])).expect(200);
    expect_refused(&server, "too_large", 1.0);
}

#[test]
fn without_a_server() {
    let config = json!({
        "upstreams": { "pool": { "servers": {} } },
        "routes": [{ "action": { "pass": "upstreams/pool" } }]
    });
    let server = daemon().config(config).start();
    server.get("/").expect(502);
    expect_refused(&server, "no_server", 1.0);
}

/// Requests that cannot be read are others in HTTP/2.
mod http1_only {
    use super::*;

    #[test]
    fn requests_that_are_malformed() {
        let server = serve(json!({ "return": 200 }));
        for request in ["GET / HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n"] {
            let mut client = server.connect();
            client.write(request);
            client.read_response().expect(400);
        }
        expect_refused(&server, "malformed", 2.0);
    }

    #[test]
    fn heads_that_are_too_large() {
        let server = serve(json!({ "return": 200 }));
        let mut client = server.connect();
        client.write(format!("GET / HTTP/1.1\r\nHost: a\r\nX-Long: {}\r\n\r\n", "x".repeat(1 << 20)));
        client.read_response().expect(431);
        expect_refused(&server, "too_large", 1.0);
    }

    #[test]
    fn clients_that_are_too_slow() {
        let settings = json!({ "header_read_timeout": 1 });
        let server = daemon().routes(json!([{ "action": { "return": 200 } }])).http(settings).start();
        let mut client = server.connect();
        client.write("GET / HTTP/1.1\r\nHost: a\r\nX-Slow");
        client.read_response().expect(408);
        expect_refused(&server, "timeout", 1.0);
    }

    /// A client that closes its connection within a head has not been refused.
    #[test]
    fn a_client_that_leaves_is_not_refused() {
        let server = serve(json!({ "return": 200 }));
        let mut client = server.connect();
        client.write("GET / HTTP/1.1\r\nHost: a");
        client.finish_writing();
        assert!(client.is_closed());
        eventually("it is counted", || (samples(&server)["corral_requests_total"] == 1.0).then_some(()));
        expect_none(&server);
    }

    #[test]
    fn connections_beyond_those_of_an_address() {
        let config = json!({
            "settings": { "limits": { "connections_per_address": 1 } },
            "routes": [{ "action": { "return": 200 } }]
        });
        let server = daemon().config(config).start();
        let mut held = server.connect();
        held.get("/").expect(200);
        server.get("/").expect(503);
        expect_refused(&server, "connections", 1.0);
    }
}
