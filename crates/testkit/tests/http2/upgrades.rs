//! Requests over HTTP/2 go on, and no client is turned away, while everything behind the connections changes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};

use corral_testkit::{Daemon, Http2, Http2Stream, OnEnd, Signal, Site, eventually, is_alive, signal, site};
use h2::{Error, Reason};
use serde_json::{Value, json};

use super::{put, serve};

/// Clients, and how many requests each has on its way at a time.
const N_CLIENTS: usize = 6;
const N_STREAMS: usize = 5;

/// Whether the server has said that it has not begun with a request, which is for another connection then (RFC 9113
/// section 6.8).
fn is_turned_away(error: &Error) -> bool {
    let reason = error.reason();
    (error.is_go_away() && reason == Some(Reason::NO_ERROR)) || reason == Some(Reason::REFUSED_STREAM)
}

/// Asks until it is over, on a new connection where the server has ended one; returns what went wrong.
fn ask(address: SocketAddr, target: &str, is_over: &AtomicBool, n_good: &AtomicU64) -> Vec<String> {
    let mut failures = Vec::new();
    while !is_over.load(Ordering::Relaxed) && failures.is_empty() {
        let mut client = Http2::connect(address);
        while !is_over.load(Ordering::Relaxed) {
            let streams: Result<Vec<Http2Stream>, Error> =
                (0..N_STREAMS).map(|_| client.try_begin_get(target)).collect();
            let responses = streams.and_then(|mut streams| {
                let responses = streams.iter_mut().map(Http2Stream::try_response);
                responses.collect::<Result<Vec<_>, Error>>()
            });
            match responses {
                Ok(responses) => {
                    let bad = responses.iter().filter(|response| response.status != 200);
                    failures.extend(bad.map(ToString::to_string));
                    n_good.fetch_add(responses.len() as u64, Ordering::Relaxed);
                }
                Err(error) if is_turned_away(&error) => break,
                Err(error) => {
                    failures.push(error.to_string());
                    break;
                }
            }
        }
    }
    failures
}

/// Runs `change` again and again while clients ask for these targets; nothing may fail.
#[track_caller]
fn check(server: &mut Daemon, targets: &[&str], mut change: impl FnMut(&mut Daemon, u32)) {
    let address = server.address().socket();
    let (is_over, n_good) = (AtomicBool::new(false), AtomicU64::new(0));
    let failures: Vec<String> = thread::scope(|scope| {
        let _end = OnEnd(&is_over);
        let clients = (0..N_CLIENTS).map(|n| {
            let target = targets[n % targets.len()];
            let (is_over, n_good) = (&is_over, &n_good);
            scope.spawn(move || ask(address, target, is_over, n_good))
        });
        let clients: Vec<ScopedJoinHandle<'_, _>> = clients.collect();
        let more = || {
            let goal = n_good.load(Ordering::Relaxed) + 100;
            eventually("more requests are answered", || {
                let is_dead = clients.iter().any(ScopedJoinHandle::is_finished);
                (is_dead || n_good.load(Ordering::Relaxed) >= goal).then_some(())
            });
        };
        for turn in 0..3 {
            more();
            change(server, turn);
            more();
        }
        is_over.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|client| client.join().expect("a client does not panic")).collect()
    });
    assert!(failures.is_empty(), "{} good, but {failures:?}\n{}", n_good.into_inner(), server.log());
}

fn php_site() -> Site {
    site().file("index.php", "<?php echo 'x';").file("a.txt", "x")
}

fn config(site: &Site, mark: u32) -> Value {
    json!({
        "routes": [
            { "match": { "uri": "/a.txt" }, "action": { "share": format!("{}$uri", site.root()) } },
            { "match": { "uri": format!("/{mark}") }, "action": { "return": 204 } },
            { "action": { "pass": "applications/php" } },
        ],
        "applications": { "php": {
            "type": "php", "root": site.root(), "processes": 2, "environment": { "MARK": mark.to_string() },
        } },
    })
}

#[test]
fn no_request_is_lost_by_upgrades() {
    let site = php_site();
    let mut server = serve(config(&site, 0));
    check(&mut server, &["/", "/a.txt"], |server, _| {
        let old = server.upgrade();
        eventually("the old process ends", || (!is_alive(old)).then_some(()));
    });
    server.expect_processes("router", 1);
}

/// Requests that were begun before are answered, however soon the process ends after it.
#[test]
fn no_reply_is_lost_by_a_graceful_stop() {
    let site = site().file("index.php", "<?php usleep(200000); echo str_repeat('x', 50000);");
    for _ in 0..4 {
        let mut server = serve(config(&site, 0));
        let mut client = Http2::connect(server.address().socket());
        let mut streams = [(); 2].map(|()| client.begin_get("/"));
        eventually("both run", || {
            let active = server.control().get("/status/applications/php/requests/active").json();
            (active == 2).then_some(())
        });
        signal(server.pid(), Signal::QUIT);
        for stream in &mut streams {
            let response = stream.try_response().unwrap_or_else(|error| panic!("{error}\n{}", server.log()));
            assert_eq!(response.expect(200).body.len(), 50_000);
        }
        server.wait_for_end();
    }
}

#[test]
fn no_request_is_lost_by_changes_and_restarts() {
    let site = php_site();
    let mut server = serve(config(&site, 0));
    check(&mut server, &["/", "/a.txt"], |server, turn| {
        put(server, config(&site, turn + 1));
        server.control().get("/control/applications/php/restart").0.expect(200);
    });
}
