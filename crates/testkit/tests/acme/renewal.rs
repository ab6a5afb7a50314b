//! Certificates that are replaced while clients are served.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use corral_testkit::pebble::Options;
use corral_testkit::{FakeClock, Load, PATIENCE, Request, daemon, within};
use serde_json::json;

use crate::ordering::Ordering;

#[test]
fn no_handshake_fails_while_certificates_are_renewed() {
    let validity = Duration::from_secs(16);
    let ordering = Ordering::start(Options { validity, ..Options::default() });
    ordering.order(&json!({ "names": "localhost" }));
    ordering.expect_valid("localhost");
    let client = ordering.pebble.client();
    let mut kept = ordering.connect("localhost");
    let first = ordering.leaf(&client, "localhost");
    let load = Load::start_tls(ordering.https.socket(), &client, "/", 4);
    for renewals in 1..=2 {
        ordering.await_status("localhost", "it is renewed", |_| {
            ordering.server.log().matches("certificate for localhost renewed by").count() >= renewals
        });
        load.await_more(50);
    }
    kept.get("/").expect(200).expect_text("hello");
    let tally = load.stop();
    assert!(tally.failures.is_empty(), "{} good, but {:?}", tally.n_good, tally.failures);
    assert_ne!(ordering.leaf(&client, "localhost"), first);
}

#[test]
fn the_authority_says_when_to_renew() {
    let mut ordering = Ordering::start(Options::default());
    ordering.order(&json!({ "names": "a.example.org" }));
    ordering.expect_valid("a.example.org");
    let client = ordering.pebble.client();
    let first = ordering.leaf(&client, "a.example.org");
    let window =
        json!({ "suggestedWindow": { "start": "2021-01-03T00:00:00Z", "end": "2021-01-07T00:00:00Z" } });
    ordering.pebble.set_renewal_info(&ordering.stored_chain("a.example.org"), &window.to_string());
    // A daemon that is started asks at once.
    ordering.server.stop();
    ordering.server.restart();
    ordering.server.expect_log("certificate for a.example.org renewed by");
    assert_ne!(ordering.leaf(&client, "a.example.org"), first);
    assert_eq!(ordering.n_issued(), 2);
}

/// One that was started anew has another issuer, and knows neither the account nor the certificate that is renewed.
#[test]
fn an_authority_that_does_not_know_what_is_replaced_renews_it() {
    let validity = Duration::from_secs(16);
    let mut ordering = Ordering::start(Options { validity, ..Options::default() });
    ordering.order(&json!({ "names": "localhost" }));
    ordering.expect_valid("localhost");
    let first = ordering.stored_chain("localhost");
    let n_before = ordering.pebble.log().matches("/order-plz").count();
    ordering.pebble.stop();
    ordering.pebble.start_again();
    ordering.await_status("localhost", "it is renewed", |status| {
        status["state"] == "valid" && ordering.stored_chain("localhost") != first
    });
    let n_orders = ordering.pebble.log().matches("/order-plz").count() - n_before;
    assert!(n_orders >= 2, "one with, and one without what it replaces\n{}", ordering.pebble.log());
    ordering.expect_served("localhost");
}

/// A certificate that a clock of another time finds old again at once is not ordered again and again.
#[test]
fn a_clock_that_is_moved_on_brings_a_renewal() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = FakeClock::new(folder.path());
    let seen = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), seen).expect("the daemon's own user reads the clock");
    let builder =
        clock.environment().iter().fold(daemon(), |builder, (name, value)| builder.environment(name, value));
    let validity = Duration::from_secs(20 * 86_400);
    let ordering = Ordering::start_as(Options { validity, ..Options::default() }, &builder);
    ordering.order(&json!({ "names": "a.example.org" }));
    ordering.expect_valid("a.example.org");
    clock.set("+16d");
    // The engine looks at the clock once in a minute.
    let found = within(PATIENCE * 3, || {
        ordering.server.log().contains("certificate for a.example.org renewed by").then_some(())
    });
    assert!(found.is_some(), "{}", ordering.server.log());
    ordering.expect_served("a.example.org");
    assert_eq!(ordering.n_issued(), 2);
}

#[test]
fn what_is_said_about_renewals_may_be_nonsense() {
    let mut ordering = Ordering::start(Options::default());
    ordering.order(&json!({ "names": "a.example.org" }));
    ordering.expect_valid("a.example.org");
    let before = ordering.status("a.example.org")["renews_at"].clone();
    ordering.pebble.set_renewal_info(&ordering.stored_chain("a.example.org"), "nonsense");
    ordering.server.stop();
    ordering.server.restart();
    let status = ordering.await_status("a.example.org", "it is valid", |status| status["state"] == "valid");
    let day = |time: &serde_json::Value| time.as_str().unwrap()[..7].to_owned();
    assert_eq!(day(&status["renews_at"]), day(&before));
    ordering.expect_served("a.example.org");
}

#[test]
fn a_person_renews_a_certificate_that_is_not_due() {
    let ordering = Ordering::start(Options::default());
    ordering.order(&json!({ "names": "a.example.org" }));
    ordering.expect_valid("a.example.org");
    let client = ordering.pebble.client();
    let first = ordering.leaf(&client, "a.example.org");
    let renew = |name: &str| {
        let request = Request::post(&format!("/control/certificates/{name}/renew"));
        ordering.server.control().send(&request)
    };
    renew("b.example.org").expect_refused(404, "Certificate doesn't exist.");
    assert_eq!(renew("A.example.org").json()["success"], "Ok");
    // The same again, while that goes on or after it; never two at once.
    assert!(matches!(renew("a.example.org").0.status, 200 | 409));
    ordering.server.expect_log("certificate for a.example.org renewed by");
    ordering.server.expect_log("by the control socket: POST /control/certificates/A.example.org/renew");
    assert_ne!(ordering.leaf(&client, "a.example.org"), first);
}
