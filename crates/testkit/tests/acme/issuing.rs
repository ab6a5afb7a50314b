//! From a name in the configuration to a certificate.

use std::time::Duration;

use corral_testkit::pebble::Options;
use corral_testkit::{Address, Client, within};
use serde_json::json;

use crate::ordering::Ordering;

/// Options: listeners.{addr}.tls.acme.directory, listeners.{addr}.tls.acme.ca, listeners.{addr}.tls.acme.names
#[test]
fn a_name_gets_a_certificate() {
    let ordering = Ordering::start(Options::default());
    ordering.order(&json!({ "names": "a.example.org" }));
    ordering.expect_valid("a.example.org");
    ordering.expect_served("a.example.org");
    let status = ordering.status("a.example.org");
    assert!(status["issuer"].as_str().unwrap().contains("Pebble"), "{status}");
    assert!(status["expires"].as_str().unwrap() > status["renews_at"].as_str().unwrap(), "{status}");
    assert_eq!(status["challenge"], "tls-alpn-01", "no listener has port 80");
    ordering.server.expect_log("certificate for a.example.org issued by");
}

/// Options: listeners.{addr}.tls.acme
#[test]
fn names_of_routes_get_certificates() {
    let ordering = Ordering::start(Options::default());
    let mut config = ordering.config(&ordering.acme(&json!({})));
    config["routes"] = json!([
        { "match": { "host": ["b.example.org", "c.example.org"] }, "action": { "return": 200, "body": "hello" } },
    ]);
    ordering.server.control().put("/config", &config).expect_done();
    for name in ["b.example.org", "c.example.org"] {
        ordering.expect_valid(name);
        ordering.expect_served(name);
    }
}

/// Options: listeners.{addr}.tls.acme.challenge
#[test]
fn a_name_is_proved_in_the_way_that_is_asked_for() {
    let ordering = Ordering::start(Options::default());
    for (challenge, name, way) in
        [("http", "h.example.org", "http-01"), ("tls-alpn", "t.example.org", "tls-alpn-01")]
    {
        ordering.order(&json!({ "names": name, "challenge": challenge }));
        ordering.expect_valid(name);
        assert_eq!(ordering.status(name)["challenge"], way);
        ordering.expect_served(name);
    }
}

#[test]
fn half_of_all_nonces_may_be_refused() {
    let ordering = Ordering::start(Options { nonce_reject: 50, ..Options::default() });
    let names = ["a.example.org", "b.example.org", "c.example.org", "d.example.org"];
    ordering.order(&json!({ "names": names }));
    names.iter().for_each(|name| ordering.expect_valid(name));
    assert!(!ordering.server.log().contains("next try"), "{}", ordering.server.log());
}

#[test]
fn the_authority_says_when_to_look_again() {
    let retry_after = Duration::from_secs(1);
    let ordering = Ordering::start(Options { retry_after, ..Options::default() });
    ordering.order(&json!({ "names": "a.example.org" }));
    ordering.expect_valid("a.example.org");
}

/// Options: listeners.{addr}.tls.acme.profile
#[test]
fn a_profile_decides_how_long_a_certificate_lives() {
    let six_days = Duration::from_secs(6 * 86_400);
    let profiles = vec![("shortlived".to_owned(), six_days)];
    let ordering = Ordering::start(Options { profiles, ..Options::default() });
    ordering.order(&json!({ "names": "a.example.org", "profile": "shortlived" }));
    ordering.expect_valid("a.example.org");
    ordering.expect_served("a.example.org");
    ordering.order(&json!({ "names": "b.example.org", "profile": "eternal" }));
    let status = ordering.await_status("b.example.org", "it fails", |status| status["state"] == "failed");
    let words = "the authority does not have the profile \"eternal\"; it has: default, shortlived";
    assert_eq!(status["last_error"], words);
}

/// Options: listeners.{addr}.tls.acme.eab, listeners.{addr}.tls.acme.eab.kid, listeners.{addr}.tls.acme.eab.key,
/// listeners.{addr}.tls.acme.email
#[test]
fn an_external_account_is_bound() {
    let key = "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldCBzZWNyZXQ";
    let external_accounts = vec![("key-1".to_owned(), key.to_owned())];
    let ordering = Ordering::start(Options { external_accounts, ..Options::default() });
    ordering.order(&json!({ "names": "a.example.org" }));
    let status = ordering
        .await_status("a.example.org", "it needs an account", |status| status["last_error"].is_string());
    let error = status["last_error"].as_str().unwrap();
    assert!(error.contains("write them into \"eab\""), "{error}");
    let eab = json!({ "kid": "key-1", "key": key });
    ordering.order(&json!({ "names": "a.example.org", "email": "admin@example.org", "eab": eab }));
    ordering.expect_valid("a.example.org");
    let log = ordering.server.log();
    assert!(!log.contains(key), "no secret is in the log");
}

#[test]
fn a_name_without_a_certificate_keeps_no_other_one_waiting() {
    let ordering =
        Ordering::start(Options { blocked: vec!["blocked.example.org".to_owned()], ..Options::default() });
    ordering.order(&json!({ "names": ["blocked.example.org", "a.example.org"] }));
    ordering.expect_valid("a.example.org");
    let status =
        ordering.await_status("blocked.example.org", "it fails", |status| status["state"] == "failed");
    let error = status["last_error"].as_str().unwrap();
    assert!(error.starts_with("the authority does not issue for this name: "), "{error}");
    assert!(status["next_try"].is_string());
    ordering
        .server
        .expect_log("certificate for blocked.example.org: the authority does not issue for this name");
    let refused =
        Client::try_connect_tls(ordering.https.socket(), &ordering.pebble.client(), "blocked.example.org");
    assert!(refused.is_err());
}

#[test]
fn names_that_are_added_and_removed_cost_nothing_more() {
    let ordering = Ordering::start(Options::default());
    ordering.order(&json!({ "names": "a.example.org" }));
    ordering.expect_valid("a.example.org");
    ordering.order(&json!({ "names": "b.example.org" }));
    ordering.expect_valid("b.example.org");
    assert!(ordering.status("a.example.org").is_null());
    ordering.order(&json!({ "names": ["a.example.org", "b.example.org"] }));
    for name in ["a.example.org", "b.example.org"] {
        assert_eq!(ordering.status(name)["state"], "valid", "it has its certificate still");
        ordering.expect_served(name);
    }
    assert_eq!(ordering.n_issued(), 2);
}

#[test]
fn the_control_api_does_not_wait_for_an_authority() {
    let ordering = Ordering::start(Options::default());
    // A server that accepts and says nothing.
    let mute = std::net::TcpListener::bind(Address::fresh().socket()).unwrap();
    let directory = format!("https://{}/dir", mute.local_addr().unwrap());
    let mut acme = ordering.acme(&json!({ "names": "a.example.org" }));
    acme["directory"] = json!(directory);
    ordering.server.control().put("/config", &ordering.config(&acme)).expect_done();
    let (connection, _) = mute.accept().unwrap();
    assert_eq!(ordering.status("a.example.org")["state"], "ordering");
    assert_eq!(Client::connect(ordering.http.socket()).get("/").status, 200);
    drop((connection, mute));
    let error = within(corral_testkit::PATIENCE, || {
        ordering.status("a.example.org")["last_error"].as_str().map(str::to_owned)
    });
    assert!(error.unwrap().contains("cannot be reached"));
}
