//! Authorities that are away, forget accounts, or cannot reach the names.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering as Memory};
use std::thread;

use corral_testkit::Address;
use corral_testkit::pebble::Options;
use serde_json::json;

use crate::ordering::Ordering;

#[test]
fn an_authority_that_was_away_is_found_back() {
    let mut ordering = Ordering::start(Options::default());
    ordering.order(&json!({ "names": "a.example.org" }));
    ordering.expect_valid("a.example.org");
    ordering.pebble.stop();
    ordering.order(&json!({ "names": ["a.example.org", "b.example.org", "c.example.org"] }));
    let status =
        ordering.await_status("b.example.org", "why it waits", |status| status["last_error"].is_string());
    let error = status["last_error"].as_str().unwrap();
    assert!(error.contains("cannot be reached: "), "{error}");
    assert_eq!(ordering.status("a.example.org")["state"], "valid", "it is served meanwhile");
    ordering.pebble.start_again();
    ordering.expect_valid("b.example.org");
    ordering.expect_valid("c.example.org");
    ordering.expect_served("b.example.org");
    assert!(ordering.status("b.example.org")["last_error"].is_null());
    // It has forgotten the account as well.
    ordering.server.expect_log("does not know the account any more");
}

#[test]
fn an_account_whose_record_is_lost_is_made_anew() {
    let mut ordering = Ordering::start(Options::default());
    ordering.order(&json!({ "names": "a.example.org" }));
    ordering.expect_valid("a.example.org");
    ordering.server.stop();
    let accounts = ordering.records("account-");
    assert_eq!(accounts.len(), 1);
    fs::remove_file(&accounts[0]).unwrap();
    ordering.server.restart();
    ordering.order(&json!({ "names": ["a.example.org", "b.example.org"] }));
    ordering.expect_valid("b.example.org");
    assert_eq!(ordering.records("account-").len(), 1);
}

#[test]
fn records_that_are_broken_are_made_anew() {
    let mut ordering = Ordering::start(Options::default());
    ordering.order(&json!({ "names": "a.example.org" }));
    ordering.expect_valid("a.example.org");
    ordering.server.stop();
    for record in ordering.records("") {
        fs::write(record, "nonsense").unwrap();
    }
    ordering.server.restart();
    ordering.expect_valid("a.example.org");
    ordering.server.expect_log("the record \"certificate-a.example.org\" is broken");
    ordering.expect_served("a.example.org");
}

/// Passes on what authorities ask, but for each third connection.
fn lossy_front(to: SocketAddr) -> (Address, Arc<AtomicUsize>) {
    let place = Address::fresh();
    let listener = TcpListener::bind(place.socket()).expect("it is free");
    let n_dropped = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&n_dropped);
    thread::spawn(move || {
        for (idx, client) in listener.incoming().flatten().enumerate() {
            if idx % 3 == 0 {
                counter.fetch_add(1, Memory::Relaxed);
                continue;
            }
            let Ok(server) = TcpStream::connect(to) else { continue };
            let there = [client.try_clone(), server.try_clone()].map(Result::unwrap);
            let [client_too, server_too] = there;
            thread::spawn(move || pass_on(client, server));
            thread::spawn(move || pass_on(server_too, client_too));
        }
    });
    (place, n_dropped)
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
    let _ = (from.read(&mut []), to.flush());
}

#[test]
fn a_third_of_validations_may_fail() {
    // The daemon listens elsewhere than where the authority looks.
    let mut ordering = Ordering::start(Options::default());
    let (front, n_dropped) = lossy_front(ordering.http.socket());
    ordering.pebble.stop();
    let options = Options { http_port: front.port(), tls_port: ordering.https.port(), ..Options::default() };
    ordering.pebble = corral_testkit::pebble::Pebble::start(options);
    ordering.upload("lossy", &ordering.pebble.root_ca_pem());
    let names: Vec<_> = (0..12).map(|idx| format!("n{idx}.example.org")).collect();
    ordering.order(&json!({ "names": names, "challenge": "http", "ca": "lossy" }));
    for name in &names {
        ordering.await_status(name, "it was tried", |status| {
            status["state"] == "valid" || status["state"] == "failed"
        });
    }
    let failed: Vec<_> = names.iter().filter(|name| ordering.status(name)["state"] == "failed").collect();
    assert!(!failed.is_empty() && n_dropped.load(Memory::Relaxed) >= failed.len());
    assert!(failed.len() < names.len(), "the others have theirs");
    let status = ordering.status(failed[0]);
    assert!(
        status["next_try"].is_string() && status["last_error"].as_str().unwrap().contains(';'),
        "{status}"
    );
    // Whoever repairs something does not wait for the end of a pause.
    ordering.order(&json!({ "names": names, "challenge": "tls-alpn", "ca": "lossy" }));
    names.iter().for_each(|name| ordering.expect_valid(name));
}
