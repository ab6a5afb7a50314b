//! `limit_connections`: how many requests of one client are answered at the same time.

use corral_testkit::{Client, Daemon, Origin, Request, daemon, eventually, php_app, site};
use serde_json::{Value, json};

use super::status_of;

const PLACE: &str = "/routes/0/action/limit_connections";

/// An origin behind an action with this limit; two event loops.
fn with(origin: &Origin, limit: Value) -> Daemon {
    let action = json!({ "proxy": origin.url(), "limit_connections": limit });
    daemon().config(json!({ "settings": { "listen_threads": 2 }, "routes": [{ "action": action }] })).start()
}

/// A request that goes on until its body is complete.
fn held(server: &Daemon) -> Client {
    let mut client = server.connect();
    client.write("POST / HTTP/1.1\r\nHost: a\r\nX-Key: a\r\nContent-Length: 4\r\n\r\nbo");
    client
}

#[track_caller]
fn expect_passed(server: &Daemon, n: u64) {
    eventually("the requests have begun", || (status_of(server, PLACE)["passed"] == n).then_some(()));
}

#[track_caller]
fn expect_none_held(server: &Daemon) {
    eventually("all places are free", || (status_of(server, PLACE)["keys"] == 0).then_some(()));
}

/// Options: …action.limit_connections, …action.limit_connections.connections
#[test]
fn what_is_beyond_the_bound_is_refused() {
    let origin = Origin::saying("x");
    let server = with(&origin, json!({ "connections": 2 }));
    let mut clients = [held(&server), held(&server)];
    expect_passed(&server, 2);
    server.get("/").expect(503).expect_no_field("RateLimit");
    assert_eq!(status_of(&server, PLACE), json!({ "passed": 2, "delayed": 0, "refused": 1, "keys": 1 }));
    server.expect_log("limit_connections: refused, \"127.0.0.1\" has too many requests at once");
    clients[0].write("dy");
    clients[0].read_response().expect(200);
    eventually("there is a place again", || (server.get("/").status == 200).then_some(()));
    clients[1].write("dy");
    clients[1].read_response().expect(200);
    expect_none_held(&server);
}

#[test]
fn a_client_that_leaves_gives_its_place_back() {
    let origin = Origin::saying("x");
    let server = with(&origin, json!({ "connections": 1 }));
    let client = held(&server);
    expect_passed(&server, 1);
    server.get("/").expect(503);
    drop(client);
    expect_none_held(&server);
    server.get("/").expect(200);
}

#[test]
fn errors_give_places_back() {
    let origin = Origin::start(|_| {});
    let server = with(&origin, json!({ "connections": 1 }));
    for _ in 0..3 {
        server.get("/").expect(502);
        expect_none_held(&server);
    }
}

#[test]
fn an_upgraded_connection_keeps_its_place() {
    let origin = Origin::start(|peer| {
        peer.read_head();
        peer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
        while !peer.read().is_empty() {}
    });
    let server = with(&origin, json!({ "connections": 1 }));
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    client.read_response().expect(101);
    server.get("/").expect(503);
    drop(client);
    expect_none_held(&server);
}

/// Options: …action.limit_connections.key, …action.limit_connections.exempt, …action.limit_connections.status
#[test]
fn requests_are_counted_by_a_text() {
    let origin = Origin::saying("x");
    let limit = json!({ "connections": 1, "key": "$header_x_key", "status": 429 });
    let server = with(&origin, limit.clone());
    let mut client = held(&server);
    expect_passed(&server, 1);
    let keyed = |key: &str| server.send(&Request::get("/").field("X-Key", key));
    keyed("a").expect(429);
    keyed("b").expect(200);
    server.get("/").expect(200);
    let mut exempt = limit;
    exempt["exempt"] = json!("127.0.0.0/8");
    server.control().put("/config/routes/0/action/limit_connections", &exempt).expect_done();
    keyed("a").expect(200);
    client.write("dy");
    client.read_response().expect(200);
}

/// Options: …action.limit_connections.dry_run
#[test]
fn a_dry_run_only_tells() {
    let origin = Origin::saying("x");
    let server = with(&origin, json!({ "connections": 1, "dry_run": true }));
    let mut client = held(&server);
    expect_passed(&server, 1);
    server.get("/").expect(200);
    assert_eq!(
        status_of(&server, PLACE),
        json!({ "passed": 2, "would_delay": 0, "would_refuse": 1, "keys": 1 })
    );
    server.expect_log("limit_connections: would be refused (dry_run)");
    client.write("dy");
    client.read_response().expect(200);
    expect_none_held(&server);
}

/// A change of the configuration frees no place and loses none.
#[test]
fn places_outlive_a_change() {
    let origin = Origin::saying("x");
    let server = with(&origin, json!({ "connections": 1 }));
    let mut client = held(&server);
    expect_passed(&server, 1);
    server.control().put("/config/settings/http", &json!({ "idle_timeout": 7 })).expect_done();
    server.get("/").expect(503);
    client.write("dy");
    client.read_response().expect(200);
    expect_none_held(&server);
    server.get("/").expect(200);
}

/// Options: listeners.{addr}.limit_connections, applications.{N}.limit_connections
#[test]
fn listeners_and_applications_have_limits_of_their_own() {
    let site = site().file("index.php", "<?php echo 1;");
    let server = daemon().start_unconfigured();
    let address = server.address().to_string();
    let limit = |status: u16| json!({ "connections": 1, "status": status });
    let config = |listener: Value, app: Value| {
        json!({
            "listeners": { &address: listener },
            "applications": { "php": app },
            "routes": [
                { "match": { "uri": "/nothing" }, "action": { "return": 204 } },
                { "action": { "pass": "applications/php" } },
            ],
        })
    };
    // Statuses of two requests while there is another one in the application.
    let check = |config: &Value, place: &str, expected: [u16; 2]| {
        server.control().put("/config", config).expect_done();
        let mut client = held(&server);
        eventually("the request has begun", || (status_of(&server, place)["passed"] == 1).then_some(()));
        assert_eq!(["/", "/nothing"].map(|path| server.get(path).status), expected, "{place}");
        client.write("dy");
        client.read_response().expect(200);
    };
    let app = php_app(&site).with("limit_connections", limit(420)).value();
    let open = json!({ "pass": "routes" });
    check(&config(open, app), "/applications/php/limit_connections", [420, 204]);
    let limited = json!({ "pass": "routes", "limit_connections": limit(429) });
    let place = format!("/listeners/{address}/limit_connections");
    check(&config(limited, php_app(&site).value()), &place, [429, 429]);
}
