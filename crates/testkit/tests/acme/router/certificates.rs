//! Which certificate a client gets.

use corral_ipc::message::IssuedSecretKind;
use corral_testkit::{Request, eventually};
use serde_json::json;

use super::{Issuer, UNRECOGNISED, certificate, secret};

/// Options: listeners.{addr}.tls.acme, listeners.{addr}.tls.acme.names
#[test]
fn a_name_without_a_certificate_gets_an_alert_until_it_has_one() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example", "b.example"] })) else { return };
    issuer.expect_alert("a.example", UNRECOGNISED);
    issuer.daemon.expect_log("there is no certificate for \"a.example\" yet: see /status/certificates");
    let bundle = issuer.issue("a.example");
    issuer.expect_shown("a.example", &bundle);
    issuer.expect_shown("A.Example", &bundle);
    issuer.expect_alert("b.example", UNRECOGNISED);
    issuer.provide(vec![secret(IssuedSecretKind::Certificate, "a.example", None)]);
    issuer.expect_alert("a.example", UNRECOGNISED);
}

/// The metrics have the reason.
#[test]
fn handshakes_without_a_certificate_are_counted() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example", "b.example"] })) else { return };
    issuer.expect_alert("a.example", UNRECOGNISED);
    issuer.expect_alert("other.example", UNRECOGNISED);
    let expected = "corral_tls_handshake_failures_total{reason=\"no_certificate\"} 2";
    eventually("both are counted", || {
        let request = Request::get("/metrics").field("Accept", "application/openmetrics-text");
        let text = issuer.daemon.control().send(&request).0.expect(200).text();
        text.lines().any(|line| line == expected).then_some(())
    });
}

#[test]
fn the_alert_has_the_number_of_its_rfc() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example", "b.example"] })) else { return };
    for version in ["-tls1_2", "-tls1_3"] {
        let said = issuer.openssl(&[version, "-servername", "a.example"]);
        assert!(said.contains("SSL alert number 112"), "{said}");
        let said = issuer.openssl(&[version, "-noservername"]);
        assert!(said.contains("SSL alert number 109"), "{said}");
    }
}

#[test]
fn names_of_nobody_are_not_served() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example"] })) else { return };
    issuer.issue("a.example");
    issuer.issue("other.example");
    issuer.issue("*.example");
    issuer.expect_alert("other.example", UNRECOGNISED);
    issuer.expect_alert("x.a.example", UNRECOGNISED);
    issuer.daemon.expect_log("\"other.example\" is not a name that is served");
}

#[test]
fn a_wildcard_stands_for_one_label() {
    let dns = json!({ "dns": { "program": ["/bin/true"] } });
    let names = json!({ "names": ["*.w.example", "x.w.example"], "challenge": dns });
    let Some(issuer) = Issuer::start(names) else { return };
    let wildcard = issuer.issue("*.w.example");
    issuer.expect_shown("y.w.example", &wildcard);
    issuer.expect_shown("x.w.example", &wildcard);
    let exact = issuer.issue("x.w.example");
    issuer.expect_shown("x.w.example", &exact);
    issuer.expect_shown("y.w.example", &wildcard);
    issuer.expect_alert("w.example", UNRECOGNISED);
    issuer.expect_alert("z.y.w.example", UNRECOGNISED);
}

#[test]
fn clients_that_name_no_host_get_the_only_certificate_there_is() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example"] })) else { return };
    let client = issuer.client().without_name();
    issuer.expect_alert_to(&client, "a.example", "InternalError");
    let bundle = issuer.issue("a.example");
    issuer.expect_shown_to(&client, "a.example", &bundle);
    issuer.configure(json!({ "names": ["a.example", "b.example"] }), json!({}), json!({}));
    issuer.expect_alert_to(&client, "a.example", "MissingExtension");
    issuer.expect_shown("a.example", &bundle);
}

#[test]
fn uploaded_bundles_come_first() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example"] })) else { return };
    let [first, second] = [&["a.example", "*.up.example"], &["c.example", "d.example"]]
        .map(|hosts: &[&str; 2]| issuer.authority.server("uploaded", hosts));
    for (name, bundle) in [("first", &first), ("second", &second)] {
        issuer.daemon.control().put_text(&format!("/certificates/{name}"), &bundle.pem()).0.expect(200);
    }
    let names = json!({ "names": ["a.example", "x.up.example", "b.example", "e.example"] });
    issuer.configure(names, json!({ "certificate": ["first", "second"] }), json!({}));
    let ordered = ["a.example", "x.up.example", "b.example"].map(|name| issuer.issue(name));
    issuer.expect_shown("a.example", &first);
    issuer.expect_shown("x.up.example", &first);
    issuer.expect_shown("d.example", &second);
    issuer.expect_shown("b.example", &ordered[2]);
    // Other clients get the first one, which is not for them.
    let said = issuer.openssl(&["-servername", "e.example"]);
    assert!(said.contains("subject=CN = uploaded"), "{said}");
    issuer.expect_shown_to(&issuer.client().without_name(), "a.example", &first);
}

#[test]
fn what_is_no_certificate_changes_nothing() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example", "b.example"] })) else { return };
    let old = issuer.issue("a.example");
    let (other, good) = (issuer.certificate("a.example"), issuer.certificate("b.example"));
    let bad = [
        String::new(),
        "no PEM".to_owned(),
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned(),
        "-----BEGIN CERTIFICATE-----\n".to_owned(),
        other.certificate.clone(),
        other.key.clone(),
        other.certificate.clone() + &good.key,
        other.pem().replace("CERTIFICATE", "X509 CRL"),
    ];
    let mut batch: Vec<_> = bad.iter().map(|pem| certificate("a.example", pem)).collect();
    batch.extend(bad.iter().map(|pem| secret(IssuedSecretKind::TlsAlpn, "a.example", Some(pem))));
    batch.push(certificate("b.example", &good.pem()));
    issuer.provide(batch);
    issuer.expect_shown("a.example", &old);
    issuer.expect_shown("b.example", &good);
    issuer.daemon.expect_log("Certificate for \"a.example\" cannot be used");
    issuer.daemon.expect_log("TlsAlpn for \"a.example\" cannot be used");
}

#[test]
fn there_may_be_thousands_of_names() {
    const MANY: usize = 10_000;
    let name = |n: usize| format!("n{n}.example");
    let names: Vec<_> = (0..MANY).map(name).collect();
    let Some(issuer) = Issuer::start(json!({ "names": names })) else { return };
    let (usual, last) = (issuer.certificate("usual.example").pem(), issuer.certificate(&name(MANY - 1)));
    let mut batch: Vec<_> = names.iter().map(|name| certificate(name, &usual)).collect();
    batch.push(certificate(&name(MANY - 1), &last.pem()));
    issuer.provide(batch);
    issuer.expect_shown(&name(MANY - 1), &last);
    let said = issuer.openssl(&["-servername", &name(17)]);
    assert!(said.contains("subject=CN = usual.example"), "{said}");
    issuer.expect_alert("n.example", UNRECOGNISED);
}
