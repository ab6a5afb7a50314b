//! Connections: many requests on one, and many at the same time.

use corral_testkit::{Client, Daemon, Signal, daemon, eventually, signal, site, stop};
use serde_json::json;

/// Answers everything with 200 and an empty body.
fn plain() -> Daemon {
    daemon().routes(json!([{ "action": { "return": 200 } }])).start()
}

#[test]
fn a_connection_serves_many_requests() {
    let server = plain();
    let mut client = server.connect();
    for _ in 0..5 {
        client.get("/").expect(200).expect_no_field("Connection");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let site = site().file("a.txt", "a").file("b.txt", "bb");
    let server = daemon().routes(json!([{ "action": { "share": format!("{}$uri", site.root()) } }])).start();
    let mut client = server.connect();
    let requests =
        ["/a.txt", "/nope", "/b.txt", "/a.txt"].map(|path| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
    client.write(requests.concat());
    client.read_response().expect(200).expect_body("a");
    client.read_response().expect(404);
    client.read_response().expect(200).expect_body("bb");
    client.read_response().expect(200).expect_body("a");
}

/// One event loop has both connections, and finds that both have sent something.
#[test]
fn a_client_that_sends_hundreds_of_requests_at_once_does_not_keep_others_waiting() {
    let site = site().writable_folder("");
    let server = daemon()
        .config(json!({
            "settings": { "listen_threads": 1 },
            "routes": [{ "action": { "return": 200 } }],
            "access_log": { "path": site.path("log"), "format": "$uri" }
        }))
        .start();
    let (mut greedy, mut other) = (server.connect(), server.connect());
    greedy.get("/").expect(200);
    other.get("/").expect(200);
    let router = server.expect_processes("router", 1)[0];
    stop(router);
    greedy.write("GET /many HTTP/1.1\r\nHost: a\r\n\r\n".repeat(400));
    other.write("GET /one HTTP/1.1\r\nHost: a\r\n\r\n");
    signal(router, Signal::CONT);
    other.read_response().expect(200);
    (0..400).for_each(|_| _ = greedy.read_response().expect(200));
    let log = eventually("all are logged", || {
        let text = std::fs::read_to_string(site.path("log")).ok()?;
        (text.lines().count() >= 403).then_some(text)
    });
    let n_before = log.lines().position(|uri| uri == "/one").expect("it is logged");
    assert!(n_before < 100, "{n_before} requests were answered before");
}

#[test]
fn requests_may_arrive_byte_by_byte() {
    let server = plain();
    let mut client = server.connect();
    for byte in b"GET /a HTTP/1.1\r\nHost: a\r\nX-Long: value\r\n\r\n" {
        client.write([*byte]);
    }
    client.read_response().expect(200);
}

#[test]
fn many_connections_wait_without_harm() {
    let server = plain();
    let mut held: Vec<Client> = (0..500).map(|_| server.connect()).collect();
    for client in &mut held {
        client.get("/").expect(200);
    }
    server.get("/").expect(200);
    for client in &mut held {
        client.get("/").expect(200);
    }
}
