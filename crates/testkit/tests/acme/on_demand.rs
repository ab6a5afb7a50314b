//! Names that are not in the configuration, ordered when a client asks for one that a rule allows.

use corral_testkit::pebble::Options;
use corral_testkit::{Client, daemon, eventually};
use serde_json::json;

use crate::ordering::Ordering;

/// Has a client ask for a name, which gets no certificate yet.
#[track_caller]
fn ask(ordering: &Ordering, name: &str) {
    let client = ordering.pebble.client();
    if let Ok(mut client) = Client::try_connect_tls(ordering.https.socket(), &client, name) {
        // In TLS 1.3 the alert comes when the client reads.
        let _ = client.try_write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        let _ = client.read_to_end();
    }
}

/// Options: listeners.{addr}.tls.acme.on_demand.allow
#[test]
fn a_name_of_the_list_is_ordered_when_a_client_asks_for_it() {
    let mut ordering = Ordering::start(Options::default());
    ordering.order(&json!({ "on_demand": { "allow": ["a.example.org", "*.shop.example.org"] } }));
    for name in ["a.example.org", "x.shop.example.org"] {
        assert!(ordering.status(name).is_null());
        ask(&ordering, name);
        ordering.expect_valid(name);
        ordering.expect_served(name);
    }
    ask(&ordering, "b.example.org");
    ordering.server.expect_log("certificate for b.example.org: not ordered: no rule allows it");
    ordering.server.stop();
    ordering.server.restart();
    ordering.expect_served("a.example.org");
    assert_eq!(ordering.status("a.example.org")["state"], "valid");
    assert_eq!(ordering.n_issued(), 2);
}

/// Options: listeners.{addr}.tls.acme.on_demand.allow, listeners.{addr}.tls.acme.on_demand.remember_allowed,
/// listeners.{addr}.tls.acme.on_demand.remember_refused
#[test]
fn a_url_decides_about_a_name() {
    let rule = json!([
        { "match": { "arguments": { "domain": "a.example.org" } }, "action": { "return": 200 } },
        { "action": { "return": 404 } },
    ]);
    let judge = daemon().routes(rule).start();
    let ordering = Ordering::start(Options::default());
    let url = format!("http://{}/allowed", judge.address());
    let rule = json!({ "allow": url, "remember_allowed": 10, "remember_refused": 0 });
    ordering.order(&json!({ "on_demand": rule }));
    ask(&ordering, "b.example.org");
    ordering.server.expect_log(
        "certificate for b.example.org: not ordered: the URL of \"allow\" does not answer with status 200",
    );
    ask(&ordering, "a.example.org");
    ordering.expect_valid("a.example.org");
    ordering.expect_served("a.example.org");
    assert!(ordering.status("b.example.org").is_null());
    // A no that is not remembered is asked for again.
    eventually("the URL is asked about the name once more", || {
        ask(&ordering, "b.example.org");
        let n_asked = judge.control().get("/status/requests/total").json();
        (n_asked.as_u64()? >= 3).then_some(())
    });
}

/// Options: listeners.{addr}.tls.acme.on_demand.per_address, listeners.{addr}.tls.acme.on_demand.per_domain
#[test]
fn nobody_gets_too_many() {
    let ordering = Ordering::start(Options::default());
    let allow = ["*.example.org", "*.example.net"];
    ordering.order(&json!({ "on_demand": { "allow": allow, "per_address": 3, "per_domain": 1 } }));
    ask(&ordering, "a.example.org");
    ordering.expect_valid("a.example.org");
    ask(&ordering, "b.example.org");
    ordering
        .server
        .expect_log("certificate for b.example.org: not ordered: its domain has got more new names");
    ask(&ordering, "a.example.net");
    ordering.expect_valid("a.example.net");
    ask(&ordering, "b.example.net");
    ordering.server.expect_log("certificate for b.example.net: not ordered: its address has asked for more");
    eventually("two are issued", || (ordering.n_issued() == 2).then_some(()));
}
