//! Clients that mean harm: floods of connections, of requests and of fields, and TLS that does not begin. What they
//! send is answered as it should be, and nothing of it stays in memory.

use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use corral_testkit::{
    Authority, Client, Daemon, PATIENCE, Request, Width, daemon, dial, eventually, private_memory, within,
};
use serde_json::{Value, json};

use super::n_clients;

/// Memory that the router may keep afterwards: buffers for reuse, and the allocator's own.
const LEFT_BEHIND: u64 = 4 << 20;

fn start(http: Value) -> Daemon {
    daemon().routes(json!([{ "action": { "return": 200 } }])).http(http).start()
}

/// Has harm done in some threads at a time, and looks at what is left of it.
#[track_caller]
fn check(server: &Daemon, harm: impl Fn() + Sync) {
    let router = server.expect_processes("router", 1)[0];
    harm();
    let before = private_memory(router).expect("it runs");
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(&harm))));
    server.get("/").expect(200);
    eventually("everything is closed", || {
        let connections = server.control().get("/status/connections").json();
        (connections["accepted"] == connections["closed"]).then_some(())
    });
    let left = || private_memory(router).expect("the same process").saturating_sub(before);
    // The allocator gives memory back a moment later, and when there is something to do.
    let is_given_back = within(PATIENCE, || {
        server.get("/").expect(200);
        (left() < LEFT_BEHIND).then_some(())
    });
    assert!(is_given_back.is_some(), "{} bytes are left", left());
}

#[test]
fn connections_that_end_at_once() {
    let server = start(json!({}));
    check(&server, || (0..10 * n_clients()).for_each(|_| drop(server.connect())));
    check(&server, || {
        for _ in 0..n_clients() {
            // Closed with the reply unread, which resets the connection.
            server.connect().write("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT");
        }
    });
}

#[test]
fn requests_upon_requests() {
    let server = start(json!({}));
    let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    check(&server, || {
        let mut client = server.connect();
        for _ in 0..n_clients() {
            client.write(request.repeat(50));
            (0..50).for_each(|_| drop(client.read_response().expect(200)));
        }
    });
}

/// A client that sends requests and never reads is not answered for ever.
#[test]
fn requests_without_an_end_whose_replies_are_not_read() {
    let server = start(json!({}));
    let requests = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1000);
    check(&server, || {
        let source = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let mut stream = dial(source, server.address().socket(), Width::Narrow).expect("connect");
        stream.set_nonblocking(true).expect("a socket");
        let mut stuck = None;
        let end = within(Duration::from_secs(30), || match stream.write(requests.as_bytes()) {
            Ok(_) => {
                stuck = None;
                None
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
                let since = *stuck.get_or_insert_with(Instant::now);
                (since.elapsed() > Duration::from_millis(200)).then_some(())
            }
        });
        assert!(end.is_some(), "it takes more and more");
    });
}

#[test]
fn fields_upon_fields() {
    let server = start(json!({}));
    let many: String = (0..5000).map(|n| format!("X-{n}: {n}\r\n")).collect();
    let heads =
        [many, format!("X-Long: {}\r\n", "x".repeat(1 << 20)), format!("X-{}: 1\r\n", "x".repeat(1 << 20))];
    check(&server, || {
        for n in 0..n_clients() {
            let mut client = server.connect();
            // The server answers before it has read everything.
            let _ = client.try_write(b"GET / HTTP/1.1\r\nHost: a\r\n");
            let _ = client.try_write(heads[n % heads.len()].as_bytes());
            client.read_response().expect(431).expect_field("Connection", "close");
        }
    });
    let _ = server.connect().try_send(&Request::new("GET", &format!("/{}", "x".repeat(1 << 20))));
    server.get("/").expect(200);
}

/// A daemon that speaks TLS.
fn start_tls(http: &Value) -> Daemon {
    let server = daemon().start_unconfigured();
    let bundle = Authority::new("Testers").server("a", &["a.example"]);
    server.control().put_text("/certificates/a", &bundle.pem()).0.expect(200);
    let listener = json!({ "pass": "routes", "tls": { "certificate": "a" } });
    let config = json!({
        "listeners": { server.address().to_string(): listener },
        "routes": [{ "action": { "return": 200 } }],
        "settings": { "http": http },
    });
    server.control().put("/config", &config).expect_done();
    server
}

/// The first half of a record that would be a greeting.
const HALF_A_GREETING: &[u8] = b"\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03";

/// One client that says nothing, one that does not finish, and one that sends byte after byte, each with this time.
#[test]
fn tls_that_does_not_begin_is_given_up() {
    let server = start_tls(&json!({ "header_read_timeout": 1 }));
    let [mut silent, mut half, mut slow] = [(); 3].map(|()| server.connect());
    half.write(HALF_A_GREETING);
    slow.write(HALF_A_GREETING);
    let ended = within(Duration::from_secs(20), || slow.try_write(b"\0").err());
    assert!(ended.is_some(), "a byte now and then is not enough");
    for client in [&mut silent, &mut half] {
        assert!(client.is_closed());
    }
}

#[test]
fn tls_that_does_not_begin_costs_little() {
    let server = start_tls(&json!({}));
    let router = server.expect_processes("router", 1)[0];
    let connect = |n: usize| -> Vec<Client> {
        let clients = (0..n).map(|_| {
            let mut client = server.connect();
            client.write(HALF_A_GREETING);
            client
        });
        let clients: Vec<_> = clients.collect();
        eventually("all have begun", || {
            let active = server.control().get("/status/connections/active").json();
            (active.as_u64() >= Some(n as u64)).then_some(())
        });
        clients
    };
    drop(connect(10));
    let before = private_memory(router).expect("it runs");
    // Descriptors are for both sides.
    let n = n_clients().min(2000);
    let _clients = connect(n);
    let cost = private_memory(router).expect("it runs").saturating_sub(before);
    eprintln!("half a greeting: {} bytes each", cost / n as u64);
    assert!(cost < (1 << 20) + (24 << 10) * n as u64, "{cost} bytes in all");
}
