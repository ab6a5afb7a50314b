//! A certificate that takes the place of another one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use corral_testkit::{Client, OnEnd, Request, eventually};
use rustls::version::{TLS12, TLS13};
use serde_json::{Value, json};

use super::Issuer;

/// Replacements while clients come all the time.
const REPLACEMENTS: usize = 50;

#[test]
fn no_handshake_fails_and_no_connection_ends() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example", "b.example"] })) else { return };
    issuer.issue("a.example");
    let mut open = issuer.connect(&issuer.client(), "a.example").expect("there is a certificate");
    let (is_over, n_served) = (AtomicBool::new(false), AtomicU64::new(0));
    let address = issuer.daemon.address().socket();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..3)
            .map(|_| {
                let client = issuer.client();
                let (is_over, n_served) = (&is_over, &n_served);
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        let mut connection =
                            Client::connect_tls(address, &client.clone().protocols(&[]), "a.example");
                        connection.send(&Request::get("/").field("Connection", "close")).expect(204);
                        n_served.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let end = OnEnd(&is_over);
        for _ in 0..REPLACEMENTS {
            let bundle = issuer.issue("a.example");
            issuer.expect_shown("a.example", &bundle);
            open.get("/").expect(204);
        }
        drop(end);
        clients.into_iter().for_each(|client| client.join().expect("every handshake succeeds"));
    });
    assert!(n_served.load(Ordering::Relaxed) > 0);
}

/// Whether a session outlives what happens.
#[track_caller]
fn check_resumed(session: &Value, happens: impl Fn(&Issuer)) {
    let tls = || json!({ "session": session });
    let Some(issuer) = Issuer::start_with(json!({ "names": ["a.example"] }), tls(), json!({})) else {
        return;
    };
    for version in [&TLS12, &TLS13] {
        issuer.issue("a.example");
        let client = issuer.client().versions(&[version]);
        let connect = || {
            let mut connection = issuer.connect(&client, "a.example").expect("there is a certificate");
            // Tickets come with the first reply.
            connection.send(&Request::get("/")).expect(204);
            connection.is_resumed()
        };
        assert!(!connect());
        happens(&issuer);
        assert!(connect(), "{session} {version:?}");
    }
}

#[test]
fn sessions_are_resumed_after_it() {
    let replace = |issuer: &Issuer| drop(issuer.issue("a.example"));
    check_resumed(&json!({ "tickets": true }), replace);
    check_resumed(&json!({ "cache_size": 100 }), replace);
}

#[test]
fn sessions_are_resumed_after_a_change_of_names() {
    let session = json!({ "cache_size": 100 });
    let names = |issuer: &Issuer| {
        for names in [json!(["b.example", "a.example"]), json!(["a.example"])] {
            issuer.configure(json!({ "names": names }), json!({ "session": session }), json!({}));
        }
    };
    check_resumed(&session, names);
}

#[test]
fn the_next_router_has_what_this_one_had() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example"] })) else { return };
    let bundle = issuer.issue("a.example");
    let router = issuer.daemon.expect_processes("router", 1)[0];
    issuer.daemon.kill(router);
    let mut refused = None;
    eventually("another router serves", || match issuer.connect(&issuer.client(), "a.example") {
        Ok(connection) => Some(connection),
        Err(error) if error.to_string().contains("alert") => {
            refused = Some(error);
            None
        }
        Err(_) => None,
    });
    assert!(refused.is_none(), "{refused:?}");
    issuer.expect_shown("a.example", &bundle);
}
