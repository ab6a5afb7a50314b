//! Certificates by `dns-01`: pebble asks the DNS server that the daemon has changed.

use corral_testkit::pebble::Options;
use corral_testkit::{Named, site};
use serde_json::{Value, json};

use crate::ordering::Ordering;

/// `challenge` of an update of this server, which takes `key`.
fn update(server: &Named, (name, secret): (&str, &str)) -> Value {
    let address = server.address().to_string();
    json!({ "dns": { "server": address, "resolver": address, "timeout": 30,
        "key": { "name": name, "secret": secret } } })
}

/// Options: listeners.{addr}.tls.acme.challenge.dns.server, listeners.{addr}.tls.acme.challenge.dns.zone,
/// listeners.{addr}.tls.acme.challenge.dns.key.name, listeners.{addr}.tls.acme.challenge.dns.key.secret,
/// listeners.{addr}.tls.acme.challenge.dns.key.algorithm
///
/// Options: listeners.{addr}.tls.acme.challenge.dns.resolver, listeners.{addr}.tls.acme.challenge.dns.timeout,
/// listeners.{addr}.tls.acme.challenge.dns.delay
#[test]
fn a_wildcard_and_its_domain_are_proved_by_updates() {
    let dns = Named::start(&["example.org"], "");
    let ordering = Ordering::start(Options { dns_server: Some(dns.address()), ..Options::default() });
    let mut challenge = update(&dns, Named::KEY);
    challenge["dns"]["zone"] = json!("example.org");
    challenge["dns"]["delay"] = json!(1);
    ordering.order(&json!({ "names": ["*.example.org", "example.org"], "challenge": challenge }));
    ordering.expect_valid("*.example.org");
    ordering.expect_valid("example.org");
    ordering.expect_served("any.example.org");
    ordering.expect_served("example.org");
    assert!(dns.texts("_acme-challenge.example.org").is_empty(), "nothing is left behind");
}

#[test]
fn a_refused_update_is_told_in_the_status_and_made_again() {
    let dns = Named::start(&["example.org"], "");
    let ordering = Ordering::start(Options { dns_server: Some(dns.address()), ..Options::default() });
    let challenge = update(&dns, Named::KEY_WITHOUT_RIGHTS);
    ordering.order(&json!({ "names": "*.example.org", "challenge": challenge }));
    let told = ordering
        .await_status("*.example.org", "why there is none", |status| status["last_error"].is_string());
    let error = told["last_error"].as_str().expect("a text");
    assert!(
        error.contains("refuses to change the zone example.org; permit it there for the key \"guest\""),
        "{error}"
    );
    ordering.order(&json!({ "names": "*.example.org", "challenge": update(&dns, Named::KEY) }));
    ordering.expect_valid("*.example.org");
}

/// The program runs as the daemon's user.
///
/// Options: listeners.{addr}.tls.acme.challenge.dns.program
#[test]
fn a_wildcard_is_proved_by_a_program() {
    let site = site().file("hook.py", include_str!("../../fixtures/acme/hook.py"));
    let hook = site.path("hook.py");
    let ordering = Ordering::start(Options::default());
    let url = ordering.pebble.dns().management_url();
    let challenge = json!({ "dns": { "program": ["/usr/bin/python3", hook, url], "timeout": 0 } });
    ordering.order(&json!({ "names": "*.example.org", "challenge": challenge }));
    ordering.expect_valid("*.example.org");
    ordering.expect_served("any.example.org");
}

#[test]
fn a_program_that_fails_is_told_in_the_status() {
    let ordering = Ordering::start(Options::default());
    let program = ["/bin/sh", "-c", "echo 'the account is locked' >&2; exit 4"];
    let challenge = json!({ "dns": { "program": program, "timeout": 0 } });
    ordering.order(&json!({ "names": "*.example.org", "challenge": challenge }));
    let told = ordering
        .await_status("*.example.org", "why there is none", |status| status["last_error"].is_string());
    let error = told["last_error"].as_str().expect("a text");
    assert!(
        error.contains("\"/bin/sh present\" has failed (exit status: 4): the account is locked"),
        "{error}"
    );
}
