//! `max_conns` and `queue`: servers that have only so many requests at a time, and requests that wait for them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use corral_testkit::{Daemon, Origin, PATIENCE, daemon, eventually};
use serde_json::{Value, json};

/// A server whose answers have to be permitted, one by one.
struct Gate {
    origin: Origin,
    permits: mpsc::Sender<()>,
    load: Arc<Load>,
}

/// Requests that a server has.
#[derive(Default)]
struct Load {
    arrived: AtomicUsize,
    present: AtomicUsize,
    most: AtomicUsize,
    targets: Mutex<Vec<String>>,
}

impl Load {
    fn enter(&self, request: &[u8]) {
        let target = String::from_utf8_lossy(request).split(' ').nth(1).unwrap_or_default().to_owned();
        self.targets.lock().expect("no panic").push(target);
        let present = self.present.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(present, Ordering::SeqCst);
        self.arrived.fetch_add(1, Ordering::SeqCst);
    }
}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

impl Gate {
    fn new() -> Self {
        let (permits, permitted) = mpsc::channel::<()>();
        let permitted = Mutex::new(permitted);
        let load = Arc::<Load>::default();
        let shared = Arc::clone(&load);
        let origin = Origin::start(move |peer| {
            while let Some(request) = peer.read_request() {
                shared.enter(&request);
                let _ = permitted.lock().expect("no panic").recv_timeout(PATIENCE);
                shared.present.fetch_sub(1, Ordering::SeqCst);
                if !peer.write(ANSWER) {
                    return;
                }
            }
        });
        Self { origin, permits, load }
    }

    fn permit(&self, n: usize) {
        (0..n).for_each(|_| self.permits.send(()).expect("the server runs"));
    }

    #[track_caller]
    fn expect_arrivals(&self, n: usize) {
        eventually("the requests arrive", || (self.load.arrived.load(Ordering::SeqCst) == n).then_some(()));
    }

    fn targets(&self) -> Vec<String> {
        self.load.targets.lock().expect("no panic").clone()
    }
}

/// A daemon with two event loops, and a group of this server and others.
fn start(gate: &Gate, max_conns: u32, queue: Value) -> Daemon {
    let mut pool = json!({ "servers": { gate.origin.address(): { "max_conns": max_conns } } });
    if !queue.is_null() {
        pool["queue"] = queue;
    }
    start_pool(&pool)
}

fn start_pool(pool: &Value) -> Daemon {
    let config = json!({
        "settings": { "listen_threads": 2 },
        "upstreams": { "pool": pool },
        "routes": [{ "action": { "pass": "upstreams/pool" } }]
    });
    daemon().config(config).start()
}

#[track_caller]
fn expect_waiting(server: &Daemon, n: u64) {
    eventually("the requests wait", || {
        let status = server.control().get("/status").json();
        (status["upstreams"]["pool"]["waiting"] == n).then_some(())
    });
}

/// Options: upstreams.{N}.servers.{addr}.max_conns, upstreams.{N}.queue, upstreams.{N}.queue.size
#[test]
fn a_server_has_no_more_requests_than_it_may() {
    let gate = Gate::new();
    let server = start(&gate, 2, json!({ "size": 100 }));
    thread::scope(|scope| {
        let spawn = |number: usize| {
            let server = &server;
            scope.spawn(move || server.get(&format!("/{number}")).status)
        };
        let clients: Vec<_> = (0..12).map(spawn).collect();
        gate.expect_arrivals(2);
        expect_waiting(&server, 10);
        gate.permit(12);
        for client in clients {
            assert_eq!(client.join().expect("no panic"), 200);
        }
    });
    assert_eq!(gate.load.most.load(Ordering::SeqCst), 2);
    expect_waiting(&server, 0);
}

/// Options: upstreams.{N}.queue
#[test]
fn requests_are_served_in_the_order_in_which_they_came() {
    let gate = Gate::new();
    let server = start(&gate, 1, json!(10));
    thread::scope(|scope| {
        let mut clients = Vec::new();
        for number in 0..5 {
            let server = &server;
            clients.push(scope.spawn(move || server.get(&format!("/{number}")).status));
            if number == 0 {
                gate.expect_arrivals(1);
            } else {
                expect_waiting(server, number);
            }
        }
        gate.permit(5);
        assert!(clients.into_iter().all(|client| client.join().expect("no panic") == 200));
    });
    assert_eq!(gate.targets(), ["/0", "/1", "/2", "/3", "/4"]);
}

#[test]
fn a_request_that_finds_the_queue_full_is_refused_at_once() {
    let gate = Gate::new();
    for (queue, size) in [(json!({ "size": 1 }), 1), (json!(0), 0), (json!(null), 0)] {
        let before = gate.load.arrived.load(Ordering::SeqCst);
        let server = start(&gate, 1, queue);
        thread::scope(|scope| {
            let clients: Vec<_> = (0..=size)
                .map(|number| {
                    let client = scope.spawn(|| server.get("/").status);
                    match number {
                        0 => gate.expect_arrivals(before + 1),
                        _ => expect_waiting(&server, number),
                    }
                    client
                })
                .collect();
            let refused = server.get("/").expect(503);
            assert_eq!(refused.field("Retry-After"), Some("1"), "{refused}");
            gate.permit(clients.len());
            assert!(clients.into_iter().all(|client| client.join().expect("no panic") == 200));
        });
        server.expect_log("all servers have as many requests as they may, and the queue is full");
        gate.permit(1);
        // It is given back a moment after the end of the response.
        eventually("the place is free again", || (server.get("/").status == 200).then_some(()));
    }
}

/// Options: upstreams.{N}.queue.timeout
#[test]
fn a_request_waits_for_so_long() {
    let gate = Gate::new();
    let server = start(&gate, 1, json!({ "size": 9, "timeout": 1 }));
    thread::scope(|scope| {
        let first = scope.spawn(|| server.get("/").status);
        gate.expect_arrivals(1);
        let begun = Instant::now();
        let refused = server.get("/").expect(503);
        assert_eq!(refused.field("Retry-After"), Some("1"), "{refused}");
        assert!((1..8).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        gate.permit(1);
        assert_eq!(first.join().expect("no panic"), 200);
    });
    server.expect_log("no server has had room for one more request within 1s");
}

/// Options: upstreams.{N}.servers.{addr}.max_conns
#[test]
fn what_one_server_has_no_room_for_goes_to_others() {
    let (gate, other) = (Gate::new(), Origin::saying("other"));
    let mut pool = json!({ "servers": {
        gate.origin.address(): { "max_conns": 1, "weight": 1000 },
        other.address(): {}
    }});
    for is_backup in [false, true] {
        pool["servers"][other.address()]["backup"] = json!(is_backup);
        let server = start_pool(&pool);
        let before = gate.load.arrived.load(Ordering::SeqCst);
        thread::scope(|scope| {
            let first = scope.spawn(|| server.get("/").text());
            gate.expect_arrivals(before + 1);
            for _ in 0..5 {
                server.get("/").expect(200).expect_body("other");
            }
            gate.permit(1);
            assert_eq!(first.join().expect("no panic"), "ok");
        });
    }
}

/// A server that is known to fail does not end a wait in a queue.
#[test]
fn requests_wait_rather_than_asking_a_server_that_is_avoided() {
    let gate = Gate::new();
    let dead = Origin::start(|peer| {
        peer.read_request();
    });
    let pool = json!({
        "servers": { gate.origin.address(): { "max_conns": 1 }, dead.address(): {} },
        "queue": 9,
        "fail_timeout": 1000
    });
    let server = start_pool(&pool);
    gate.permit(2);
    for _ in 0..2 {
        server.get("/").expect(200);
    }
    thread::scope(|scope| {
        let first = scope.spawn(|| server.get("/").status);
        gate.expect_arrivals(3);
        let second = scope.spawn(|| server.get("/").status);
        expect_waiting(&server, 1);
        gate.permit(2);
        assert_eq!((first.join().expect("no panic"), second.join().expect("no panic")), (200, 200));
    });
    assert_eq!(dead.n_connections(), 1);
}

/// Requests of the last configuration keep their places at servers that stay.
#[test]
fn a_change_of_the_configuration_gives_away_no_place_twice() {
    let gate = Gate::new();
    let server = start(&gate, 1, json!(9));
    thread::scope(|scope| {
        let first = scope.spawn(|| server.get("/first").status);
        gate.expect_arrivals(1);
        let second = scope.spawn(|| server.get("/second").status);
        expect_waiting(&server, 1);
        server.control().put("/config/upstreams/pool/queue", &json!(5)).expect_done();
        let third = scope.spawn(|| server.get("/third").status);
        expect_waiting(&server, 1);
        gate.permit(3);
        for client in [first, second, third] {
            assert_eq!(client.join().expect("no panic"), 200);
        }
    });
    assert_eq!(gate.load.most.load(Ordering::SeqCst), 1);
}

/// Tests of HTTP/1 alone, which the profile `http2` leaves out.
mod http1_only {
    use super::*;

    #[test]
    fn a_client_that_leaves_frees_its_place_in_the_queue() {
        let gate = Gate::new();
        let server = start(&gate, 1, json!(1));
        thread::scope(|scope| {
            let first = scope.spawn(|| server.get("/first").status);
            gate.expect_arrivals(1);
            let mut leaving = server.connect();
            leaving.write("GET /leaving HTTP/1.1\r\nHost: x\r\n\r\n");
            expect_waiting(&server, 1);
            drop(leaving);
            expect_waiting(&server, 0);
            let last = scope.spawn(|| server.get("/last").status);
            expect_waiting(&server, 1);
            gate.permit(2);
            assert_eq!((first.join().expect("no panic"), last.join().expect("no panic")), (200, 200));
        });
        assert_eq!(gate.targets(), ["/first", "/last"]);
    }

    #[test]
    fn a_client_that_leaves_in_the_middle_frees_its_place_at_the_server() {
        let gate = Gate::new();
        let server = start(&gate, 1, json!(9));
        let mut leaving = server.connect();
        leaving.write("GET /leaving HTTP/1.1\r\nHost: x\r\n\r\n");
        gate.expect_arrivals(1);
        thread::scope(|scope| {
            let next = scope.spawn(|| server.get("/next").status);
            expect_waiting(&server, 1);
            drop(leaving);
            gate.expect_arrivals(2);
            gate.permit(2);
            assert_eq!(next.join().expect("no panic"), 200);
        });
    }

    /// The connection is with the server until it ends.
    #[test]
    fn an_upgraded_connection_takes_a_place() {
        let origin = Origin::start(|peer| {
            let Some(request) = peer.read_request() else { return };
            if request.starts_with(b"GET /up ") {
                peer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
                peer.read();
            } else {
                peer.write(ANSWER);
            }
        });
        let server = start_pool(&json!({ "servers": { origin.address(): { "max_conns": 1 } } }));
        let mut client = server.connect();
        client.write("GET /up HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
        client.read_until_text("\r\n\r\n");
        server.get("/").expect(503);
        drop(client);
        eventually("the place is free", || (server.get("/").status == 200).then_some(()));
    }
}

/// Many clients at once, on all event loops.
#[test]
fn the_limit_holds_under_load() {
    let load = Arc::<Load>::default();
    let shared = Arc::clone(&load);
    let origin = Origin::start(move |peer| {
        while let Some(request) = peer.read_request() {
            shared.enter(&request);
            thread::sleep(Duration::from_millis(1));
            shared.present.fetch_sub(1, Ordering::SeqCst);
            if !peer.write(ANSWER) {
                return;
            }
        }
    });
    let pool = json!({ "servers": { origin.address(): { "max_conns": 3 } }, "queue": 1000 });
    let server = start_pool(&pool);
    thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                let mut client = server.connect();
                for _ in 0..20 {
                    client.get("/").expect(200);
                }
            });
        }
    });
    assert_eq!(load.most.load(Ordering::SeqCst), 3);
    assert_eq!(load.arrived.load(Ordering::SeqCst), 24 * 20);
}
