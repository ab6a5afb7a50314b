//! Servers that are marked `down` or `backup`, or that come back slowly, and changes of what a group says of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use corral_testkit::{Daemon, Origin, daemon, eventually};
use serde_json::{Value, json};

use super::upstreams::{answers, servers, start};

/// The state of a server in `/status`.
fn state(server: &Daemon, origin: &Origin) -> Value {
    server.control().get("/status").json()["upstreams"]["pool"]["servers"][origin.address()].clone()
}

/// Options: upstreams.{N}.servers.{addr}.down
#[test]
fn a_server_that_is_marked_down_gets_no_requests() {
    let (a, b) = (Origin::saying("a"), Origin::saying("b"));
    let mut pool = servers(&[(&a, 1.0), (&b, 1.0)]);
    pool["servers"][b.address()]["down"] = json!(true);
    for balance in
        [json!("round_robin"), json!("least_connections"), json!("random_two"), json!({ "hash": "$uri" })]
    {
        pool["balance"] = balance;
        let server = start(&pool);
        assert_eq!(answers(&server, 8), "a".repeat(8), "{}", pool["balance"]);
        assert_eq!(
            (&state(&server, &a)["state"], &state(&server, &b)["state"]),
            (&json!("up"), &json!("down"))
        );
    }
    pool["servers"][a.address()]["down"] = json!(true);
    let server = start(&pool);
    server.get("/").expect(502);
    server.expect_log("upstream \"pool\": no server is available");
    assert_eq!((a.n_connections() > 0, b.n_connections()), (true, 0));
}

/// Options: upstreams.{N}.servers.{addr}.backup
#[test]
fn a_backup_answers_when_no_other_server_can() {
    let (a, b) = (Origin::saying("a"), Origin::saying("b"));
    let dead = Origin::start(|peer| {
        peer.read_request();
    });
    let mut pool = servers(&[(&a, 1.0), (&b, 1.0)]);
    pool["servers"][b.address()]["backup"] = json!(true);
    assert_eq!(answers(&start(&pool), 8), "a".repeat(8));
    pool["servers"][a.address()]["down"] = json!(true);
    assert_eq!(answers(&start(&pool), 8), "b".repeat(8));
    let mut pool = servers(&[(&dead, 1.0), (&b, 1.0)]);
    pool["servers"][b.address()]["backup"] = json!(true);
    let server = start(&pool);
    assert_eq!(answers(&server, 8), "b".repeat(8), "the first request goes on to it, the others begin there");
    assert_eq!(state(&server, &dead)["requests"]["failed"], json!(1));
    pool["servers"][dead.address()]["backup"] = json!(true);
    assert_eq!(answers(&start(&pool), 8), "b".repeat(8), "a group of backups alone is one like any other");
}

/// Options: upstreams.{N}.slow_start
#[test]
fn a_server_that_comes_back_gets_little_at_first() {
    let is_well = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&is_well);
    let a = Origin::saying("a");
    let sick = Origin::start(move |peer| {
        let Some(request) = peer.read_request() else { return };
        let status =
            if request.starts_with(b"GET /up ") && !shared.load(Ordering::SeqCst) { 500 } else { 200 };
        peer.write(
            format!("HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: 1\r\n\r\ns").as_bytes(),
        );
    });
    let mut pool = servers(&[(&a, 1.0), (&sick, 1.0)]);
    pool["health"] = json!({ "path": "/up", "interval": 1, "rises": 1, "falls": 1 });
    for (slow_start, expect) in [(0, 10..=10), (80_000, 0..=2)] {
        pool["slow_start"] = json!(slow_start);
        is_well.store(false, Ordering::SeqCst);
        let server = start(&pool);
        let becomes = |wanted| {
            eventually("the checks notice", || (state(&server, &sick)["state"] == wanted).then_some(()));
        };
        becomes("down");
        is_well.store(true, Ordering::SeqCst);
        becomes("up");
        let found = answers(&server, 20);
        let n = found.matches('s').count();
        assert!(expect.contains(&n), "{slow_start}: {found}");
    }
}

/// A server that answers each request after this time.
fn slow(name: &str, time: Duration) -> Origin {
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{name}");
    Origin::start(move |peer| {
        while peer.read_request().is_some() {
            std::thread::sleep(time);
            peer.write(response.as_bytes());
        }
    })
}

/// Options: upstreams.{N}.balance
#[test]
fn the_server_that_answers_first_gets_most() {
    let (a, b) = (slow("a", Duration::from_millis(1)), slow("b", Duration::from_millis(120)));
    let mut pool = servers(&[(&a, 1.0), (&b, 1.0)]);
    pool["balance"] = json!("least_time");
    let found = answers(&start(&pool), 40);
    assert!(found.contains('b'), "it is not known before it was asked: {found}");
    assert!(found.matches('a').count() >= 36, "{found}");
}

/// A group may say other things of its servers without touching them.
#[test]
fn a_change_of_weights_keeps_connections_health_and_figures() {
    let (a, b) = (Origin::saying("a"), Origin::saying("b"));
    let dead = Origin::start(|peer| {
        peer.read_request();
    });
    let mut pool = servers(&[(&a, 1.0), (&b, 1.0), (&dead, 1.0)]);
    pool["fail_timeout"] = json!(1000);
    let server = start(&pool);
    let change = |path: &str, value: Value| {
        server.control().put(&format!("/config/upstreams/pool/{path}"), &value).expect_done();
    };
    answers(&server, 6);
    let before = state(&server, &a)["requests"]["total"].as_u64().expect("a number");
    assert_eq!(state(&server, &dead)["state"], "avoided");
    change(&format!("servers/{}/weight", a.address()), json!(3));
    assert_eq!(answers(&server, 8).matches('a').count(), 6);
    change(&format!("servers/{}/down", a.address()), json!(true));
    assert_eq!(answers(&server, 4), "bbbb");
    change(&format!("servers/{}/down", a.address()), json!(false));
    change(&format!("servers/{}/backup", b.address()), json!(true));
    assert_eq!(answers(&server, 4), "aaaa");
    change(&format!("servers/{}/max_conns", a.address()), json!(9));
    change("slow_start", json!(9));
    change("queue", json!(9));
    change("retries", json!(3));
    change("balance", json!("least_connections"));
    assert_eq!(answers(&server, 4), "aaaa");
    assert_eq!((a.n_connections(), b.n_connections()), (1, 1));
    assert_eq!(state(&server, &dead)["state"], "avoided", "it is known to be ill");
    assert_eq!(dead.n_connections(), 1);
    assert_eq!(state(&server, &a)["requests"]["total"], json!(before + 6 + 8));
}

/// Requests that are with a server when it is taken out of use are answered.
#[test]
fn requests_outlive_the_mark_down() {
    let (go_on, told) = std::sync::mpsc::channel::<()>();
    let told = std::sync::Mutex::new(told);
    let (arrived, arrival) = std::sync::mpsc::channel();
    let origin = Origin::start(move |peer| {
        peer.read_request();
        let _ = arrived.send(());
        let _ = told.lock().expect("it is not poisoned").recv_timeout(corral_testkit::PATIENCE);
        peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
    });
    let server = daemon()
        .config(json!({
            "upstreams": { "pool": servers(&[(&origin, 1.0)]) },
            "routes": [{ "action": { "pass": "upstreams/pool" } }]
        }))
        .start();
    std::thread::scope(|scope| {
        let reply = scope.spawn(|| server.get("/"));
        arrival.recv_timeout(corral_testkit::PATIENCE).expect("the request arrives");
        let path = format!("/config/upstreams/pool/servers/{}/down", origin.address());
        server.control().put(&path, &json!(true)).expect_done();
        server.get("/").expect(502);
        go_on.send(()).expect("it waits");
        reply.join().expect("no panic").expect(200).expect_body("a");
    });
}
