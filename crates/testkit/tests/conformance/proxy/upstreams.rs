//! `upstreams` (contract 13): turns by weight; beyond Unit other ways to choose, retries, and health.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use corral_testkit::{Daemon, Origin, assert_says, daemon, eventually};
use rustix::net::{AddressFamily, SocketType};
use serde_json::{Value, json};

/// A daemon with one event loop, whose requests all go to the upstream `pool`.
pub(super) fn start(pool: &Value) -> Daemon {
    let config = json!({
        "settings": { "listen_threads": 1 },
        "upstreams": { "pool": pool },
        "routes": [{ "action": { "pass": "upstreams/pool" } }]
    });
    daemon().config(config).start()
}

pub(super) fn servers(servers: &[(&Origin, f64)]) -> Value {
    let servers = servers.iter().map(|(origin, weight)| (origin.address(), json!({ "weight": weight })));
    json!({ "servers": Value::Object(servers.collect()) })
}

/// The servers that answer so many requests: one letter each, `!` for an error page.
pub(super) fn answers(server: &Daemon, n_requests: usize) -> String {
    let mut client = server.connect();
    let answers = (0..n_requests).map(|number| {
        let reply = client.get(&format!("/{number}"));
        if reply.status == 200 { reply.text() } else { "!".to_owned() }
    });
    answers.collect()
}

#[track_caller]
fn check_shares(server: &Daemon, n_requests: usize, expect: &[(char, usize)]) {
    let found = answers(server, n_requests);
    for (letter, n) in expect {
        assert_eq!(found.matches(*letter).count(), *n, "{letter} in {found}");
    }
}

/// Options: upstreams.{N}.servers.{addr}.weight
#[test]
fn servers_take_turns_by_weight() {
    let (a, b, c) = (Origin::saying("a"), Origin::saying("b"), Origin::saying("c"));
    check_shares(&start(&servers(&[(&a, 1.0), (&b, 1.0)])), 20, &[('a', 10), ('b', 10)]);
    check_shares(&start(&servers(&[(&a, 2.0), (&b, 1.0), (&c, 0.0)])), 30, &[('a', 20), ('b', 10), ('c', 0)]);
    check_shares(&start(&servers(&[(&a, 0.5), (&b, 1.5)])), 40, &[('a', 10), ('b', 30)]);
    assert_eq!(answers(&start(&servers(&[(&a, 5.0), (&b, 1.0), (&c, 1.0)])), 7), "aabacaa", "smoothly");
}

#[test]
fn without_a_server_it_is_502() {
    let a = Origin::saying("a");
    start(&servers(&[])).get("/").expect(502);
    let server = start(&servers(&[(&a, 0.0)]));
    server.get("/").expect(502);
    server.expect_log("upstream \"pool\": no server is available");
}

#[test]
fn a_listener_or_a_template_may_name_an_upstream() {
    let a = Origin::saying("a");
    let server = daemon().start_unconfigured();
    let config = json!({
        "listeners": { server.address().to_string(): { "pass": "upstreams/$host" } },
        "upstreams": { "pool": servers(&[(&a, 1.0)]) }
    });
    server.control().put("/config", &config).expect_done();
    let to = |host: &str| server.send(&corral_testkit::Request::get("/").field("Host", host)).status;
    assert_eq!((to("pool"), to("other")), (200, 404));
    server
        .control()
        .put(&format!("/config/listeners/{}/pass", server.address()), &json!("upstreams/pool"))
        .expect_done();
    assert_eq!(to("any"), 200);
}

#[test]
fn wrong_upstreams_are_refused() {
    let server = daemon().routes(json!([])).start();
    let check = |upstreams: Value, detail: &str| {
        let reply = server.control().put("/config/upstreams", &upstreams);
        assert_says(&reply.expect_refused(400, "Invalid configuration."), detail);
    };
    check(json!({ "one": {} }), "The \"one\" upstream must contain \"servers\" object value.");
    check(
        json!({ "one": { "servers": { "127.0.0.1": {} } } }),
        "The \"127.0.0.1\" is not valid server address.",
    );
    let weight = |weight: Value| json!({ "one": { "servers": { "127.0.0.1:80": { "weight": weight } } } });
    check(weight(json!(-0.1)), "The \"weight\" number must be positive.");
    check(weight(json!(1_000_001)), "The \"weight\" number must not exceed 1,000,000");
}

/// Options: upstreams.{N}.retries, upstreams.{N}.max_fails, upstreams.{N}.fail_timeout
#[test]
fn requests_go_on_to_the_next_server() {
    let a = Origin::saying("a");
    let dead = Origin::start(|peer| {
        peer.read_request();
    });
    let mut pool = servers(&[(&a, 1.0), (&dead, 1.0)]);
    assert_eq!(answers(&start(&pool), 10), "a".repeat(10));
    pool["retries"] = json!(0);
    pool["max_fails"] = json!(0);
    check_shares(&start(&pool), 10, &[('a', 5), ('!', 5)]);
    pool["max_fails"] = json!(2);
    pool["fail_timeout"] = json!(100);
    let server = start(&pool);
    check_shares(&server, 20, &[('a', 18), ('!', 2)]);
    let state =
        || server.control().get("/status").json()["upstreams"]["pool"]["servers"][dead.address()].clone();
    let state =
        eventually("the last exchange is over", || Some(state()).filter(|s| s["requests"]["active"] == 0));
    assert_eq!(state["state"], "avoided", "{state}");
    assert_eq!(state["requests"], json!({ "active": 0, "total": 2, "failed": 2 }));
}

/// A request asks only a few of many servers that are down.
/// Options: upstreams.{N}.retries, upstreams.{N}.retry_timeout
#[test]
fn a_request_does_not_ask_a_whole_group() {
    let a = Origin::saying("a");
    // As the one that answers has the least weight, it is the last one whose turn it is.
    let mut pool = servers(&[(&a, 0.01)]);
    // All at once, so that each has an address of its own.
    let origins: Vec<_> = (0..30).map(|_| Origin::start(|_| {})).collect();
    let gone: Vec<_> = origins.iter().map(Origin::address).collect();
    drop(origins);
    for address in &gone {
        pool["servers"][address] = json!({ "weight": 1 });
    }
    pool["max_fails"] = json!(0);
    let asked = |server: &Daemon| {
        let servers = server.control().get("/status").json()["upstreams"]["pool"]["servers"].clone();
        let total = |address: &String| servers[address]["requests"]["total"].as_u64().expect("a number");
        gone.iter().map(total).sum::<u64>()
    };
    for (retries, expected) in [(None, 10), (Some(0), 1), (Some(3), 4)] {
        if let Some(retries) = retries {
            pool["retries"] = json!(retries);
        }
        let server = start(&pool);
        server.get("/").expect(502);
        assert_eq!(asked(&server), expected, "{retries:?}");
    }
    pool["retries"] = json!(100);
    assert_eq!(answers(&start(&pool), 1), "a");
}

/// Servers that do not answer at all cost a time-out each.
#[test]
fn a_request_asks_no_further_server_after_its_time() {
    // Connections are not accepted, and their queue is full: a further one is not answered.
    let deaf: Vec<_> = (0..6).map(|_| Deaf::new()).collect();
    let mut pool = json!({ "servers": {}, "timeouts": { "connect": 1 }, "retry_timeout": 2 });
    for server in &deaf {
        pool["servers"][&server.address] = json!({});
    }
    let server = start(&pool);
    let begun = Instant::now();
    server.get("/").expect(504);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let n_asked = || server.log().matches("no connection within 1s").count();
    eventually("it is said of each", || (n_asked() >= 2).then_some(()));
    assert!(n_asked() <= 3, "{}", server.log());
}

/// A listening socket whose queue is full.
struct Deaf {
    address: String,
    _socket: OwnedFd,
    _waiting: Vec<TcpStream>,
}

impl Deaf {
    fn new() -> Self {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        rustix::net::listen(&socket, 0).expect("it listens");
        let address = rustix::net::getsockname(&socket).expect("it has an address");
        let address = SocketAddr::try_from(address).expect("one of IP");
        let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(200)).ok();
        let waiting = std::iter::from_fn(connect).collect();
        Self { address: address.to_string(), _socket: socket, _waiting: waiting }
    }
}

#[test]
fn what_may_have_been_done_is_not_done_again() {
    let a = Origin::saying("a");
    let dead = Origin::start(|peer| {
        peer.read_request();
    });
    let mut pool = servers(&[(&a, 1.0), (&dead, 1.0)]);
    pool["max_fails"] = json!(0);
    let server = start(&pool);
    let post = corral_testkit::Request::post("/").body("x");
    let statuses: Vec<_> = (0..4).map(|_| server.send(&post).status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 502).count(), 2, "{statuses:?}");
    let put = corral_testkit::Request::new("PUT", "/").body("x");
    assert!((0..4).all(|_| server.send(&put).status == 200), "PUT may be sent twice");
}

/// Options: upstreams.{N}.balance, upstreams.{N}.balance.hash
#[test]
fn servers_are_chosen_as_wanted() {
    let (a, b) = (Origin::saying("a"), Origin::saying("b"));
    let mut pool = servers(&[(&a, 1.0), (&b, 1.0)]);
    for balance in ["round_robin", "least_connections", "random_two"] {
        pool["balance"] = json!(balance);
        let found = answers(&start(&pool), 40);
        assert!(found.contains('a') && found.contains('b') && !found.contains('!'), "{balance}: {found}");
    }
    pool["balance"] = json!({ "hash": "$uri" });
    let found = answers(&start(&pool), 40);
    assert!(found.contains('a') && found.contains('b'), "{found}");
    assert_eq!(found, answers(&start(&pool), 40), "the same text goes to the same server");
}

/// Options: upstreams.{N}.health.path, upstreams.{N}.health.interval, upstreams.{N}.health.timeout
/// Options: upstreams.{N}.health.expect, upstreams.{N}.health.rises, upstreams.{N}.health.falls
/// Options: upstreams.{N}.health.host
#[test]
fn servers_that_are_not_well_get_no_requests() {
    let status = Arc::new(AtomicU16::new(204));
    let shared = Arc::clone(&status);
    let (a, sick) = (
        Origin::saying("a"),
        Origin::start(move |peer| {
            let Some(request) = peer.read_request() else { return };
            let is_check = request.starts_with(b"GET /up HTTP/1.1\r\nHost: check.example\r\n");
            let status = if is_check { shared.load(Ordering::SeqCst) } else { 200 };
            peer.write(
                format!("HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: 1\r\n\r\ns").as_bytes(),
            );
        }),
    );
    let mut pool = servers(&[(&a, 1.0), (&sick, 1.0)]);
    pool["health"] = json!({ "path": "/up", "host": "check.example", "interval": 1, "timeout": 1,
        "expect": [200, "204-205"], "rises": 1, "falls": 1 });
    let server = start(&pool);
    let state = |wanted: &str| {
        eventually("the checks notice", || {
            let state =
                &server.control().get("/status").json()["upstreams"]["pool"]["servers"][sick.address()];
            (state["state"] == wanted).then_some(())
        });
    };
    check_shares(&server, 10, &[('a', 5), ('s', 5)]);
    status.store(206, Ordering::SeqCst);
    state("down");
    check_shares(&server, 10, &[('a', 10)]);
    server.expect_log("down: it answers with status 206");
    status.store(200, Ordering::SeqCst);
    state("up");
    check_shares(&server, 10, &[('a', 5), ('s', 5)]);
}

/// Options: upstreams.{N}.timeouts.response, upstreams.{N}.keepalive.connections, upstreams.{N}.forwarded_headers
#[test]
fn upstreams_have_the_options_of_a_proxy() {
    let origin = Origin::echo();
    let mut pool = servers(&[(&origin, 1.0)]);
    pool["forwarded_headers"] = json!(false);
    pool["keepalive"] = json!({ "connections": 0 });
    let text = start(&pool).get("/").expect(200).text();
    assert!(text.contains("Connection: close\r\n") && !text.contains("X-Forwarded"), "{text}");
    let silent = Origin::start(|peer| while !peer.read().is_empty() {});
    let mut pool = servers(&[(&silent, 1.0)]);
    pool["timeouts"] = json!({ "response": 1 });
    start(&pool).get("/").expect(504);
}

/// A change that does not concern a server leaves what is known of it.
#[test]
fn servers_that_stay_keep_their_connections() {
    let a = Origin::saying("a");
    let server = start(&servers(&[(&a, 1.0)]));
    server.get("/").expect(200);
    server.control().put("/config/settings/http", &json!({ "server_version": false })).expect_done();
    server.get("/").expect(200);
    assert_eq!(a.n_connections(), 1);
}

/// One line a second for each server, with the number of those that were not written.
#[test]
fn a_server_that_is_down_does_not_flood_the_log() {
    let server = start(&json!({ "servers": { "127.0.0.1:1": {} } }));
    let mut client = server.connect();
    let n_lines = || server.log().matches("connect: Connection refused").count();
    let mut n_requests = 0;
    eventually("a later line counts the others", || {
        n_requests += 1;
        client.get("/").expect(502);
        server.log().contains(" more before)").then_some(())
    });
    assert!(n_requests > 2 * n_lines(), "{} lines for {n_requests} requests", n_lines());
    let status = server.control().get("/status").json();
    let failed = &status["upstreams"]["pool"]["servers"]["127.0.0.1:1"]["requests"]["failed"];
    assert_eq!(*failed, json!(n_requests), "all of them are counted");
}
