//! Authorities that are away, forget accounts, or cannot reach the names.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
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

/// The names of whose validations one in three is lost.
fn names() -> Vec<String> {
    (0..12).map(|idx| format!("n{idx}.example.org")).collect()
}

/// Whether it is about one of those that are lost.
fn is_lost(request: &str) -> bool {
    names().iter().step_by(3).any(|name| request.contains(&format!("\r\nHost: {name}:")))
}

/// Passes on what authorities ask, but for what is lost. An authority asks several times about each name, at once.
fn lossy_front(to: SocketAddr) -> Address {
    let place = Address::fresh();
    let listener = TcpListener::bind(place.socket()).expect("it is free");
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || pass_on_unless_lost(client, to));
        }
    });
    place
}

fn pass_on_unless_lost(mut client: TcpStream, to: SocketAddr) -> io::Result<()> {
    let mut head = [0; 4096];
    let n_read = client.read(&mut head)?;
    if is_lost(&String::from_utf8_lossy(&head[..n_read])) {
        return Ok(());
    }
    let mut server = TcpStream::connect(to)?;
    server.write_all(&head[..n_read])?;
    let (client_too, server_too) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || pass_on(client, server));
    pass_on(server_too, client_too);
    Ok(())
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
    let front = lossy_front(ordering.http.socket());
    ordering.pebble.stop();
    let options = Options { http_port: front.port(), tls_port: ordering.https.port(), ..Options::default() };
    ordering.pebble = corral_testkit::pebble::Pebble::start(options);
    ordering.upload("lossy", &ordering.pebble.root_ca_pem());
    let names = names();
    ordering.order(&json!({ "names": names, "challenge": "http", "ca": "lossy" }));
    for name in &names {
        ordering.await_status(name, "it was tried", |status| {
            status["state"] == "valid" || status["state"] == "failed"
        });
    }
    let failed: Vec<_> = names.iter().filter(|name| ordering.status(name)["state"] == "failed").collect();
    assert_eq!(failed, names.iter().step_by(3).collect::<Vec<_>>(), "the others have theirs");
    let status = ordering.status(failed[0]);
    assert!(
        status["next_try"].is_string() && status["last_error"].as_str().unwrap().contains(';'),
        "{status}"
    );
    // A repaired configuration does not wait for the end of a pause.
    ordering.order(&json!({ "names": names, "challenge": "tls-alpn", "ca": "lossy" }));
    names.iter().for_each(|name| ordering.expect_valid(name));
}
