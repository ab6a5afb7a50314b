//! Clients that read or send next to nothing: they cost memory that is bounded, and no worker. There are never very
//! many, because all that they have asked for is read in the end; `crowd` has more.

use corral_testkit::{Client, Daemon, Origin, Site, daemon, eventually, private_memory, site};
use serde_json::json;

use super::n_clients;

/// Clients of each kind at a time.
fn n_slow() -> u64 {
    n_clients().min(200) as u64
}

/// More than the buffers of two sockets hold.
const LARGE: usize = 16 << 20;

/// Bytes that all clients together may cost the router, and each of them.
#[derive(Clone, Copy)]
struct Budget {
    all: u64,
    each: u64,
}

/// Clients that do not read: what each event loop keeps in memory for all, and the piece that is being sent.
const READERS: Budget = Budget { all: 48 << 20, each: 128 << 10 };

/// Clients that do not finish their request.
const WRITERS: Budget = Budget { all: 3 << 20, each: 12 << 10 };

fn start() -> (Daemon, Site, Origin) {
    let large = format!("<?php for ($i = 0; $i < {LARGE} / 65536; $i++) {{ echo str_repeat('x', 65536); }}");
    let site = site()
        .file("small.php", "<?php echo 'x';")
        .file("large.php", large)
        .file("large.bin", vec![b'x'; LARGE]);
    let origin = Origin::answering(
        [format!("HTTP/1.1 200 OK\r\nContent-Length: {LARGE}\r\n\r\n").into_bytes(), vec![b'x'; LARGE]]
            .concat(),
    );
    let routes = json!([
        { "match": { "uri": "/proxied" }, "action": { "proxy": origin.url() } },
        { "match": { "uri": "*.bin" }, "action": { "share": format!("{}$uri", site.root()) } },
        { "action": { "pass": "applications/php" } },
    ]);
    let app = json!({ "type": "php", "root": site.root(), "processes": 2 });
    let server = daemon().config(json!({ "routes": routes, "applications": { "php": app } })).start();
    (server, site, origin)
}

/// Has many clients send `bytes` and do nothing more; the others must not notice. Returns the clients.
#[track_caller]
fn check(server: &Daemon, bytes: &str, budget: Budget) -> Vec<Client> {
    let router = server.expect_processes("router", 1)[0];
    server.get("/small.php").expect(200);
    let before = private_memory(router).expect("it runs");
    let clients = (0..n_slow()).map(|_| {
        let mut client = server.connect();
        client.write(bytes);
        client
    });
    let clients: Vec<_> = clients.collect();
    eventually("all are being served", || {
        let active = server.control().get("/status/connections/active").json();
        (active.as_u64() >= Some(n_slow())).then_some(())
    });
    eventually("no worker is busy with them", || {
        let active = server.control().get("/status/applications/php/requests/active").json();
        (active == 0).then_some(())
    });
    server.get("/small.php").expect(200).expect_text("x");
    let cost = private_memory(router).expect("it runs").saturating_sub(before);
    eprintln!("{:?}: {} bytes each", bytes.lines().next().unwrap_or_default(), cost / n_slow());
    assert!(cost < budget.all + budget.each * n_slow(), "{cost} bytes in all");
    clients
}

#[track_caller]
fn check_reader(target: &str) {
    let (server, _site, _origin) = start();
    let clients = check(&server, &format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"), READERS);
    for mut client in clients.into_iter().step_by(10) {
        assert_eq!(client.read_response().expect(200).body.len(), LARGE, "nothing was lost by waiting");
    }
}

#[test]
fn clients_that_do_not_read_a_file() {
    check_reader("/large.bin");
}

#[test]
fn clients_that_do_not_read_a_proxied_response() {
    check_reader("/proxied");
}

#[test]
fn clients_that_do_not_read_the_output_of_a_script() {
    check_reader("/large.php");
}

#[test]
fn clients_that_do_not_finish_their_head_or_body() {
    let (server, _site, _origin) = start();
    let _heads = check(&server, "GET /small.php HTTP/1.1\r\nHost: a\r\nX-Slow: 1", WRITERS);
    let bodies = "POST /small.php HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n1234567890";
    let _bodies = check(&server, bodies, WRITERS);
}
