//! Connections that are kept, each of which has a process of php-fpm for itself.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use corral_testkit::{Daemon, PhpFpm, Request, Site, daemon, eventually, site};
use serde_json::json;

use crate::{STATIC, serve};

/// Says from which port it was asked, and by which process.
const WHO: &str = "<?php echo getmypid();";

fn keeping(fpm: &PhpFpm, site: &Site, processes: u32) -> Daemon {
    serve(fpm, site, json!({ "keep_alive": { "processes": processes } }))
}

/// Options: …action.keep_alive, …action.keep_alive.processes
#[test]
fn a_connection_is_used_again() {
    let site = site().file("index.php", WHO);
    let pool = "pm = static\npm.max_children = 1";
    for fpm in [PhpFpm::at_socket(pool), PhpFpm::at_port(pool)] {
        let server = keeping(&fpm, &site, 1);
        server.get("/").expect(200);
        // The pool's only process is at the kept connection, and no other request gets through.
        let other = serve(&fpm, &site, json!({ "timeout": 1 }));
        other.get("/").expect(504);
        for _ in 0..10 {
            server.get("/").expect(200);
        }
    }
}

#[test]
fn no_request_waits_while_a_process_is_free() {
    let slow = "<?php touch(__DIR__ . '/w/began'); while (!file_exists(__DIR__ . '/w/go')) usleep(2000); echo 'slow';";
    let site = site().file("index.php", WHO).file("slow.php", slow).writable_folder("w");
    let fpm = PhpFpm::at_socket(STATIC);
    let server = keeping(&fpm, &site, 2);
    for _ in 0..4 {
        server.get("/").expect(200);
    }
    let mut waiting = server.begin(&Request::get("/slow.php"));
    eventually("the script runs", || site.path("w/began").exists().then_some(()));
    let mut processes = BTreeSet::new();
    for client in &mut server.begin_all("/", 10) {
        processes.insert(client.read_response().expect(200).text());
    }
    assert_eq!(processes.len(), 1, "the other process answers");
    site.write("w/go", "");
    waiting.read_response().expect(200).expect_body("slow");
}

#[test]
fn more_requests_than_processes_are_all_answered() {
    let site = site().file("index.php", "<?php usleep(2000); echo 'hello';");
    for fpm in [PhpFpm::at_socket(STATIC), PhpFpm::at_port(STATIC)] {
        let server = keeping(&fpm, &site, 2);
        for _ in 0..3 {
            for client in &mut server.begin_all("/", 40) {
                client.read_response().expect(200).expect_body("hello");
            }
        }
    }
}

/// php-src#10335: the end of a request is said while its script goes on.
#[test]
fn a_script_that_ends_its_request_early_holds_up_no_other() {
    let early = "<?php echo 'early'; fastcgi_finish_request(); \
        while (!file_exists(__DIR__ . '/w/go')) usleep(2000); touch(__DIR__ . '/w/done');";
    let site = site().file("index.php", WHO).file("early.php", early).writable_folder("w");
    let fpm = PhpFpm::at_socket(STATIC);
    let server = keeping(&fpm, &site, 2);
    server.get("/early.php").expect(200).expect_body("early");
    let began = Instant::now();
    for _ in 0..10 {
        server.get("/").expect(200);
    }
    // And of several at once, those that have to wait for the other process get it.
    for client in &mut server.begin_all("/", 5) {
        client.read_response().expect(200);
    }
    assert!(!site.path("w/done").exists(), "it still runs after {:?}", began.elapsed());
    site.write("w/go", "");
    eventually("the script ends", || site.path("w/done").exists().then_some(()));
    for client in &mut server.begin_all("/", 4) {
        client.read_response().expect(200);
    }
}

/// The same without a kept connection.
#[test]
fn a_script_that_ends_its_request_early_has_answered() {
    let early = "<?php echo 'early'; fastcgi_finish_request(); \
        while (!file_exists(__DIR__ . '/w/go')) usleep(2000); touch(__DIR__ . '/w/done');";
    let site = site().file("early.php", early).writable_folder("w");
    let fpm = PhpFpm::at_socket(STATIC);
    let server = serve(&fpm, &site, json!({}));
    server.get("/early.php").expect(200).expect_body("early");
    site.write("w/go", "");
    eventually("the script ends", || site.path("w/done").exists().then_some(()));
}

/// Options: …action.keep_alive.idle_timeout
#[test]
fn a_connection_that_is_not_used_is_closed() {
    let site = site().file("index.php", WHO);
    let fpm = PhpFpm::at_socket("pm = static\npm.max_children = 1");
    let server = serve(&fpm, &site, json!({ "keep_alive": { "processes": 1, "idle_timeout": 1 } }));
    server.get("/").expect(200);
    // Waits for the only process.
    let other = serve(&fpm, &site, json!({}));
    other.get("/").expect(200);
}

/// Options: upstreams.{N}.processes
#[test]
fn servers_of_an_upstream_have_processes() {
    let site = site().file("index.php", WHO);
    let fpm = PhpFpm::at_socket("pm = static\npm.max_children = 1");
    let upstream = json!({ "servers": { fpm.address(): {} }, "protocol": "fastcgi", "processes": 1 });
    let action = json!({ "fastcgi": "upstreams/php", "root": site.root() });
    let config = json!({ "upstreams": { "php": upstream }, "routes": [{ "action": action }] });
    let server = daemon().config(config).start();
    let first = server.get("/").expect(200).text();
    let other = serve(&fpm, &site, json!({ "timeout": 1 }));
    other.get("/").expect(504);
    server.get("/").expect(200).expect_body(first);
}

#[test]
fn processes_of_a_server_are_counted() {
    let held = "<?php touch(__DIR__ . '/w/began'); while (!file_exists(__DIR__ . '/w/go')) usleep(2000);";
    let site = site().file("index.php", WHO).file("held.php", held).writable_folder("w");
    let fpm = PhpFpm::at_socket("pm = static\npm.max_children = 1");
    let upstream = json!({ "servers": { fpm.address(): {} }, "protocol": "fastcgi", "processes": 1 });
    let action = json!({ "fastcgi": "upstreams/php", "root": site.root() });
    let config = json!({ "upstreams": { "php": upstream }, "routes": [{ "action": action }] });
    let server = daemon().config(config).start();
    let expect = |n: [u32; 4]| {
        let families = ["processes", "processes_busy", "processes_waiting", "connections_kept"];
        let lines = families.iter().zip(n).map(|(family, n)| {
            format!("corral_upstream_{family}{{upstream=\"php\",server=\"{}\"}} {n}.0", fpm.address())
        });
        let lines: Vec<_> = lines.collect();
        eventually("they are counted", || {
            let request = Request::get("/metrics").field("Accept", "application/openmetrics-text");
            let text = server.control().send(&request).0.expect(200).text();
            lines.iter().all(|line| text.lines().any(|found| found == line)).then_some(())
        });
    };
    expect([1, 0, 0, 0]);
    server.get("/").expect(200);
    expect([1, 0, 0, 1]);
    let mut first = server.begin(&Request::get("/held.php"));
    eventually("the script runs", || site.path("w/began").exists().then_some(()));
    let mut second = server.begin(&Request::get("/"));
    expect([1, 1, 1, 0]);
    site.write("w/go", "");
    first.read_response().expect(200);
    second.read_response().expect(200);
    expect([1, 0, 0, 1]);
}

/// php-fpm gathers its writes (Nagle's algorithm), and waits for what it has sent to be acknowledged.
#[test]
fn an_answer_in_several_pieces_waits_for_no_acknowledgement() {
    let site = site().file("index.php", "<?php echo str_repeat('x', 20000);");
    let fpm = PhpFpm::at_port(STATIC);
    let server = keeping(&fpm, &site, 2);
    let mut client = server.connect();
    let took = (0..30).map(|_| {
        let began = Instant::now();
        client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.read_response().expect(200).body.len(), 20_000);
        began.elapsed()
    });
    // The first is on a new connection, on which the kernel acknowledges at once.
    let least = took.skip(1).min().expect("there are some");
    assert!(least < Duration::from_millis(35), "even the fastest took {least:?}");
}

/// A request that changes something is sent when a process is free, though its client has left; one that reads is not.
#[test]
fn requests_whose_clients_left_while_they_waited_are_sent() {
    let held = "<?php touch(__DIR__ . '/w/began'); while (!file_exists(__DIR__ . '/w/go')) usleep(2000);";
    let ran = "<?php touch(__DIR__ . '/w/' . $_SERVER['REQUEST_METHOD'] . file_get_contents('php://input'));";
    let site = site().file("held.php", held).file("ran.php", ran).writable_folder("w");
    let fpm = PhpFpm::at_socket("pm = static\npm.max_children = 1");
    let server = keeping(&fpm, &site, 1);
    let mut first = server.begin(&Request::get("/held.php"));
    eventually("the script runs", || site.path("w/began").exists().then_some(()));
    let post = Request::post("/ran.php");
    let clients = [
        server.begin(&post.clone().body("1")),
        server.begin(&post.field("Connection", "close").body("2")),
        server.begin(&Request::get("/ran.php")),
    ];
    let status = || server.control().get("/status").json();
    eventually("all have come", || (status()["connections"]["active"] == 4).then_some(()));
    drop(clients);
    eventually("the reader has gone", || (status()["connections"]["active"] == 3).then_some(()));
    site.write("w/go", "");
    first.read_response().expect(200);
    for name in ["w/POST1", "w/POST2"] {
        eventually("it is run", || site.path(name).exists().then_some(()));
    }
    assert!(!site.path("w/GET").exists());
}

/// php-fpm ends its processes behind so many requests, and they take along what comes on a connection that they leave.
#[test]
fn no_request_is_lost_with_a_process_that_leaves() {
    let site = site().file("index.php", "<?php usleep(random_int(0, 500)); echo $_SERVER['REQUEST_METHOD'];");
    let pool = "pm = static\npm.max_children = 4\npm.max_requests = 3";
    for fpm in [PhpFpm::at_socket(pool), PhpFpm::at_port(pool)] {
        let server = keeping(&fpm, &site, 4);
        let send = |n: usize| {
            let mut client = server.connect();
            for _ in 0..40 {
                if n.is_multiple_of(4) {
                    client.get("/").expect(200).expect_body("GET");
                } else {
                    client.send(&Request::post("/").body("a=b")).expect(200).expect_body("POST");
                }
            }
        };
        std::thread::scope(|scope| (0..8).for_each(|n| drop(scope.spawn(move || send(n)))));
    }
}
