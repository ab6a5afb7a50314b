//! `"processes": "auto"`: as many workers as the work needs.

use std::num::NonZero;
use std::time::{Duration, Instant};

use corral_testkit::{Client, Daemon, Load, Site, daemon, eventually, php_app, site};
use serde_json::{Value, json};

/// Requests that wait for something other than a processor at the same time. The smallest machine may have as many
/// workers.
const N_HELD: u64 = 24;

fn automatic(code: &str) -> (Site, Daemon) {
    let site = site().file("index.php", format!("<?php {code}"));
    let app = php_app(&site).with("processes", json!("auto"));
    let server = daemon().application(app).start();
    (site, server)
}

fn figures(server: &Daemon) -> Value {
    server.control().get("/status/applications/php/processes").json()
}

fn n_processors() -> u64 {
    std::thread::available_parallelism().map_or(1, NonZero::get) as u64
}

/// Options: applications.{N}.processes
#[test]
fn scripts_that_wait_get_more_workers() {
    let (site, server) = automatic(
        "while (!file_exists(__DIR__ . '/release')) { usleep(1000); clearstatcache(); } echo getmypid();",
    );
    assert_eq!(server.control().get("/config/applications/php/processes").json(), "auto");
    server.expect_log("workers, as they are needed, for ");
    let mut clients: Vec<Client> = (0..N_HELD).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    let begun = Instant::now();
    eventually("every request has a worker", || {
        let figures = figures(&server);
        (figures["running"].as_u64() >= Some(N_HELD) && figures["idle"] == 0).then_some(())
    });
    // A fraction of a second, on a machine that does nothing else.
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    site.write("release", "");
    let mut pids: Vec<String> =
        clients.iter_mut().map(|client| client.read_response().expect(200).text()).collect();
    pids.sort();
    pids.dedup();
    assert_eq!(pids.len() as u64, N_HELD, "each ran at the same time as the others");
    assert_eq!(figures(&server)["running"], N_HELD, "and none was started for nothing");
}

/// Options: applications.{N}.processes
#[test]
fn short_scripts_need_few_workers_however_many_clients_there_are() {
    let (_site, server) = automatic("echo 'x';");
    let load = Load::start(server.address().socket(), "/", 50);
    load.await_more(5000);
    let figures = figures(&server);
    assert_eq!(load.stop().failures, Vec::<String>::new());
    let usual = n_processors().max(4);
    assert!(figures["running"].as_u64() <= Some(usual + 2), "{figures}");
}

/// Options: applications.{N}.processes
#[test]
fn the_first_workers_are_there_before_the_first_request() {
    let (_site, server) = automatic("echo 'x';");
    let kept = n_processors().min(4);
    eventually("those that are kept are started", || (figures(&server)["idle"] == kept).then_some(()));
    server.get("/").expect(200).expect_body("x");
}
