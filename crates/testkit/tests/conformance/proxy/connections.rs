//! Connections to servers: kept and used again, and given up in time.

use std::sync::mpsc;

use corral_testkit::{Origin, daemon};
use serde_json::{Value, json};

use super::{proxy, proxy_with};

/// Connections that a server sees for three requests on as many client connections.
#[track_caller]
fn check_connections(response: &str, options: Value, expect: usize) {
    let origin = Origin::answering(response);
    let server = proxy_with(&origin, options);
    for _ in 0..3 {
        server.get("/").expect(200);
    }
    assert_eq!(origin.n_connections(), expect, "{response:?}");
}

/// Options: …action.proxy_options.keepalive.connections, …action.proxy_options.keepalive.requests
#[test]
fn connections_are_used_again() {
    let plain = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    check_connections(plain, json!({}), 1);
    check_connections(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        json!({}),
        1,
    );
    check_connections(plain, json!({ "keepalive": { "connections": 0 } }), 3);
    check_connections(plain, json!({ "keepalive": { "requests": 2 } }), 2);
    check_connections("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", json!({}), 3);
    check_connections("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", json!({}), 3);
    check_connections(
        "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok",
        json!({}),
        3,
    );
}

/// Options: …action.proxy_options.keepalive.idle_timeout
#[test]
fn idle_connections_are_closed_in_time() {
    let (ended, end) = mpsc::channel();
    let origin = Origin::start(move |peer| {
        peer.read_request();
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        peer.read();
        let _ = ended.send(());
    });
    let server = proxy_with(&origin, json!({ "keepalive": { "idle_timeout": 1 } }));
    server.get("/").expect(200);
    end.recv_timeout(corral_testkit::PATIENCE).expect("the connection ends");
}

#[test]
fn a_kept_connection_that_the_server_has_closed_is_replaced() {
    // Each connection answers once and dies with the second request.
    let origin = Origin::start(|peer| {
        peer.read_request();
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        peer.read_request();
    });
    let server = proxy(&origin);
    let mut client = server.connect();
    for _ in 0..5 {
        client.get("/").expect(200).expect_body("ok");
    }
}

/// Options: …action.proxy_options.timeouts.response
#[test]
fn a_server_that_does_not_answer_is_504() {
    let origin = Origin::start(|peer| {
        peer.read_request();
        peer.read();
    });
    proxy_with(&origin, json!({ "timeouts": { "response": 1 } })).get("/").expect(504);
}

/// Options: …action.proxy_options.timeouts.read
#[test]
fn a_server_that_stops_within_a_body_is_cut_off() {
    let origin = Origin::start(|peer| {
        peer.read_request();
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
        peer.read();
    });
    let server = proxy_with(&origin, json!({ "timeouts": { "read": 1 } }));
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(client.read_to_end().ends_with(b"abc"));
}

/// Options: …action.proxy_options.timeouts.connect
#[test]
fn a_name_that_nobody_knows_is_an_error_in_time() {
    let options = json!({ "timeouts": { "connect": 1 } });
    let action = json!({ "proxy": "http://no-such-name.invalid:80", "proxy_options": options });
    let reply = daemon().routes(json!([{ "action": action }])).start().get("/");
    assert!(matches!(reply.status, 502 | 504), "{reply}");
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    /// Options: …action.proxy_options.timeouts.send
    #[test]
    fn a_server_that_takes_nothing_is_504() {
        let origin = Origin::start(|peer| {
            peer.read_head();
            std::thread::park();
        });
        let server = daemon()
        .http(json!({ "max_body_size": 200_000_000 }))
        .routes(
            json!([{ "action": { "proxy": origin.url(), "proxy_options": { "timeouts": { "send": 1 } } } }]),
        )
        .start();
        let mut client = server.connect();
        client.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n");
        let piece = vec![0; 1 << 20];
        // Until nothing more goes through, since the server reads none of it.
        while client.try_write(&piece).is_ok() {}
        server.expect_log("it took nothing of the request for 1s");
    }
}
