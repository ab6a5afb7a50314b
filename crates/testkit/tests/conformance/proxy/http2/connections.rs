//! Connections that requests share: when one is made, when it is left, and what is sent again.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use corral_testkit::{Client, Daemon, Frame, Http2Origin, Origin, PATIENCE, Request, eventually, flag, kind};
use serde_json::json;
use tokio::sync::Semaphore;

use super::{proxy, proxy_with, upstream};

/// A response without a body: `:status: 200` is in every table.
fn ok(stream: u32) -> Vec<u8> {
    Frame::new(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, stream, [0x88]).encode()
}

fn goaway(last: u32, code: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    Frame::new(kind::GOAWAY, 0, 0, payload).encode()
}

const REFUSED_STREAM: u32 = 7;

/// A semaphore that holds answers back until it has as many permits.
fn gate() -> Semaphore {
    Semaphore::new(0)
}

async fn pass(gate: &Semaphore) {
    gate.acquire().await.expect("it is never closed").forget();
}

/// Clients whose requests have been sent.
fn ask(server: &Daemon, n_clients: usize) -> Vec<Client> {
    let ask = || {
        let mut client = server.connect();
        client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        client
    };
    (0..n_clients).map(|_| ask()).collect()
}

#[test]
fn requests_share_a_connection() {
    let (arrived, arrivals) = mpsc::channel();
    let open = Arc::new(gate());
    let go_on = Arc::clone(&open);
    let origin = Http2Origin::start(move |mut asked| {
        let (arrived, go_on) = (arrived.clone(), Arc::clone(&go_on));
        async move {
            arrived.send(()).expect("the test waits");
            pass(&go_on).await;
            asked.answer(200, &[], asked.connection.to_string()).await;
        }
    });
    let server = proxy(&origin);
    let clients = ask(&server, 50);
    for _ in 0..50 {
        arrivals.recv_timeout(PATIENCE).expect("all requests arrive at the same time");
    }
    open.add_permits(50);
    for mut client in clients {
        client.read_response().expect(200).expect_body("1");
    }
    assert_eq!(origin.n_connections(), 1);
}

/// No connection has more streams than the server permits.
#[test]
fn a_full_connection_gets_company() {
    let (arrived, arrivals) = mpsc::channel();
    let open = Arc::new(gate());
    let go_on = Arc::clone(&open);
    let origin = Http2Origin::start_with(
        |settings| {
            settings.max_concurrent_streams(3);
        },
        None,
        move |mut asked| {
            let (arrived, go_on) = (arrived.clone(), Arc::clone(&go_on));
            async move {
                arrived.send(asked.connection).expect("the test waits");
                pass(&go_on).await;
                asked.answer(200, &[], "ok").await;
            }
        },
    );
    let server = proxy(&origin);
    let clients = ask(&server, 10);
    let mut numbers: Vec<_> =
        (0..10).map(|_| arrivals.recv_timeout(PATIENCE).expect("all requests arrive")).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]);
    open.add_permits(10);
    for mut client in clients {
        client.read_response().expect(200);
    }
}

/// Options: …action.proxy_options.keepalive.requests
#[test]
fn a_connection_has_as_many_requests_as_it_may() {
    let origin = Http2Origin::start(|mut asked| async move {
        asked.answer(200, &[], asked.connection.to_string()).await;
    });
    let check = |keepalive, expect: &str| {
        let server = proxy_with(&origin.url(), json!({ "keepalive": keepalive }));
        let before = origin.n_connections();
        let numbers = (0..4).map(|_| server.get("/").expect(200).text().parse::<usize>().expect("a number"));
        let numbers: String = numbers.map(|number| (number - before).to_string()).collect();
        assert_eq!(numbers, expect);
    };
    check(json!({}), "1111");
    check(json!({ "requests": 2 }), "1122");
    check(json!({ "connections": 0 }), "1234");
}

#[test]
fn idle_connections_end() {
    let ended = Arc::new(AtomicUsize::new(0));
    let ends = Arc::clone(&ended);
    let origin = Origin::start(move |peer| {
        peer.greet(&[]);
        while let Some(stream) = peer.read_stream() {
            peer.write(&ok(stream));
        }
        ends.fetch_add(1, Ordering::SeqCst);
    });
    let server = proxy_with(&origin.url(), json!({ "keepalive": { "idle_timeout": 1 } }));
    server.get("/").expect(200);
    eventually("the connection ends", || (ended.load(Ordering::SeqCst) == 1).then_some(()));
    server.get("/").expect(200);
    assert_eq!(origin.n_connections(), 2);
}

/// A server that says goodbye gets nothing new on that connection, and ends what it has begun with.
#[test]
fn goaway_is_respected() {
    let open = Arc::new(gate());
    let go_on = Arc::clone(&open);
    let origin = Http2Origin::start(move |mut asked| {
        let go_on = Arc::clone(&go_on);
        async move {
            if asked.request.uri().path() == "/slow" {
                asked.close();
                pass(&go_on).await;
            }
            asked.answer(200, &[], asked.connection.to_string()).await;
        }
    });
    let server = proxy(&origin);
    let mut slow = server.connect();
    slow.write("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    eventually("the next one has a connection of its own", || {
        (server.get("/").expect(200).text() == "2").then_some(())
    });
    open.add_permits(1);
    slow.read_response().expect(200).expect_body("1");
}

/// A request that the server has not begun is sent again, whatever it is; on another connection after a GOAWAY.
#[test]
fn what_was_not_begun_is_sent_again() {
    let origin = Origin::start(|peer| {
        let number = peer.number;
        peer.greet(&[]);
        while let Some(stream) = peer.read_stream() {
            match number {
                1 => drop(peer.write(&goaway(0, 0))),
                _ if stream == 1 => drop(peer.write(&Frame::reset(stream, REFUSED_STREAM).encode())),
                _ => drop(peer.write(&ok(stream))),
            }
        }
    });
    let server = proxy_with(&origin.url(), json!({}));
    server.send(&Request::new("POST", "/").body("once")).expect(200);
    assert_eq!(origin.n_connections(), 2);
}

/// A server that refuses everything is not asked for ever, and others are.
#[test]
fn another_server_gets_what_was_refused() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let refusing = Origin::start(move |peer| {
        peer.greet(&[]);
        while let Some(stream) = peer.read_stream() {
            counted.fetch_add(1, Ordering::SeqCst);
            peer.write(&Frame::reset(stream, REFUSED_STREAM).encode());
        }
    });
    let server = proxy_with(&refusing.url(), json!({}));
    server.send(&Request::new("POST", "/").body("once")).expect(502);
    server.expect_log("it does not take the request");
    let n_asked = asked.load(Ordering::SeqCst);
    assert!((2..=5).contains(&n_asked), "{n_asked}");
    let other = Http2Origin::start(|mut asked| async move {
        let body = asked.read_all().await;
        asked.answer(200, &[], body).await;
    });
    let servers = json!({ refusing.address(): {}, other.address(): {} });
    let server = upstream(&json!({ "servers": servers, "http2": true }));
    for _ in 0..4 {
        server.send(&Request::new("POST", "/").body("once")).expect(200).expect_body("once");
    }
}

/// Options: upstreams.{N}.servers.{addr}.http2
#[test]
fn servers_of_a_group_may_speak_either() {
    let two = Http2Origin::start(|mut asked| async move {
        let body = asked.read_all().await;
        asked.answer(200, &[], [b"2: ", &body[..]].concat()).await;
    });
    let one = Origin::start(|peer| {
        while let Some(request) = peer.read_request() {
            let body = request.rsplit(|byte| *byte == b'\n').next().unwrap_or_default().to_vec();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n1: ", body.len() + 3);
            peer.write(&[head.as_bytes(), &body].concat());
        }
    });
    let servers = json!({ two.address(): { "http2": true }, one.address(): {} });
    let server = upstream(&json!({ "servers": servers }));
    let mut bodies: Vec<_> = (0..4)
        .map(|_| {
            let mut client = server.connect();
            client.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
            client.write("2\r\nhi\r\n0\r\n\r\n");
            client.read_response().expect(200).text()
        })
        .collect();
    bodies.sort_unstable();
    assert_eq!(bodies, ["1: hi", "1: hi", "2: hi", "2: hi"]);
}

#[test]
fn checks_speak_http2_too() {
    let is_well = Arc::new(AtomicBool::new(false));
    let wellness = Arc::clone(&is_well);
    let origin = Http2Origin::start(move |mut asked| {
        let is_check = asked.request.uri().path() == "/up";
        let status = if !is_check || wellness.load(Ordering::SeqCst) { 200 } else { 503 };
        async move { asked.answer(status, &[], "ok").await }
    });
    let pool = json!({
        "servers": { origin.address(): {} },
        "http2": true,
        "health": { "path": "/up", "interval": 1, "rises": 1, "falls": 1 }
    });
    let server = upstream(&pool);
    server.expect_log("down: it answers with status 503");
    server.get("/").expect(502);
    is_well.store(true, Ordering::SeqCst);
    eventually("it is up again", || (server.get("/").status == 200).then_some(()));
}
