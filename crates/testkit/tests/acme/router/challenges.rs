//! `tls-alpn-01`: authorities validate a name by a handshake (RFC 8737).

use corral_ipc::message::IssuedSecretKind;
use corral_testkit::{Bundle, Http2, TlsClient};
use rustls::version::{TLS12, TLS13};
use serde_json::json;

use super::{Issuer, UNRECOGNISED, challenge, secret};

const ACME_TLS_1: &[&str] = &["acme-tls/1"];

impl Issuer {
    fn authority(&self) -> TlsClient {
        self.client().protocols(ACME_TLS_1)
    }

    #[track_caller]
    fn challenge(&self, host: &str) -> Bundle {
        let bundle = self.certificate(host);
        self.provide(vec![challenge(host, &bundle.pem())]);
        bundle
    }

    /// Expects that an authority gets this certificate, and that the connection ends in order.
    #[track_caller]
    fn expect_validated(&self, authority: &TlsClient, host: &str, bundle: &Bundle) {
        let mut connection = self.connect(authority, host).unwrap_or_else(|error| panic!("{host}: {error}"));
        assert_eq!(connection.tls().alpn_protocol(), Some(&b"acme-tls/1"[..]));
        assert!(connection.tls().peer_certificates().expect("one")[0].as_ref() == bundle.der());
        assert!(connection.is_closed());
    }
}

#[test]
fn authorities_get_the_certificate_of_the_challenge_and_nobody_else() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example", "b.example"] })) else { return };
    issuer.expect_alert_to(&issuer.authority(), "a.example", UNRECOGNISED);
    let (usual, proof) = (issuer.issue("a.example"), issuer.challenge("a.example"));
    for version in [&TLS12, &TLS13] {
        let authority = issuer.authority().versions(&[version]);
        issuer.expect_validated(&authority, "a.example", &proof);
        issuer.expect_validated(&authority, "a.example", &proof);
        issuer.expect_alert_to(&authority, "b.example", UNRECOGNISED);
        issuer.expect_alert_to(&authority.without_name(), "a.example", UNRECOGNISED);
    }
    issuer.expect_shown("a.example", &usual);
    issuer.expect_shown_to(&issuer.client().protocols(&["acme-tls/1", "http/1.1"]), "a.example", &usual);
    Http2::connect_tls(issuer.daemon.address().socket(), &issuer.client(), "a.example").get("/").expect(204);
    issuer.provide(vec![secret(IssuedSecretKind::TlsAlpn, "a.example", None)]);
    issuer.expect_alert_to(&issuer.authority(), "a.example", UNRECOGNISED);
}

#[test]
fn openssl_validates() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example"] })) else { return };
    issuer.challenge("a.example");
    let said = issuer.openssl(&["-alpn", "acme-tls/1", "-servername", "a.example"]);
    assert!(said.contains("ALPN protocol: acme-tls/1") && said.contains("subject=CN = a.example"), "{said}");
    let said = issuer.openssl(&["-alpn", "acme-tls/1", "-servername", "b.example"]);
    assert!(said.contains("SSL alert number 112"), "{said}");
}

#[test]
fn authorities_show_no_certificate_where_clients_have_to() {
    let Some(issuer) = Issuer::start(json!({ "names": ["a.example"] })) else { return };
    let staff = issuer.authority.bundle().pem();
    issuer.daemon.control().put_text("/certificates/staff", &staff).0.expect(200);
    issuer.configure(json!({ "names": ["a.example"] }), json!({ "client": { "ca": "staff" } }), json!({}));
    issuer.issue("a.example");
    let proof = issuer.challenge("a.example");
    issuer.expect_validated(&issuer.authority(), "a.example", &proof);
    let mut stranger = issuer.connect(&issuer.client(), "a.example").expect("told later");
    assert!(stranger.try_send(&corral_testkit::Request::get("/")).is_err());
}

/// They are refused where they ask for what a listener does not speak alone, whether a challenge waits or not.
#[test]
fn other_clients_see_no_difference() {
    let acme = || json!({ "names": ["a.example"] });
    let Some(issuer) = Issuer::start_with(acme(), json!({}), json!({ "http2": false })) else { return };
    let usual = issuer.issue("a.example");
    let protocols = |names: &[&str]| issuer.client().protocols(names);
    for n_challenges in 0..2 {
        for names in [&[][..], &["http/1.1"], &["http/1.0"], &["h2", "http/1.1"], &["acme-tls/1", "http/1.1"]]
        {
            issuer.expect_shown_to(&protocols(names), "a.example", &usual);
        }
        for names in [&["dot"][..], &["h2"], &["acme-tls/1", "dot"]] {
            issuer.expect_alert_to(&protocols(names), "a.example", "NoApplicationProtocol");
        }
        if n_challenges == 0 {
            issuer.expect_alert_to(&issuer.authority(), "a.example", UNRECOGNISED);
            let proof = issuer.challenge("a.example");
            issuer.expect_validated(&issuer.authority(), "a.example", &proof);
        }
    }
    issuer.configure(acme(), json!({}), json!({}));
    let agreed = |names: &[&str]| {
        let connection = issuer.connect(&protocols(names), "a.example");
        connection.map(|connection| connection.tls().alpn_protocol().map(<[u8]>::to_vec))
    };
    assert_eq!(agreed(&["http/1.1", "h2"]).unwrap(), Some(b"h2".to_vec()));
    assert_eq!(agreed(&["acme-tls/1", "http/1.1"]).unwrap(), Some(b"http/1.1".to_vec()));
    let refused = agreed(&["acme-tls/1", "dot"]).unwrap_err().to_string();
    assert!(refused.contains("NoApplicationProtocol"), "{refused}");
}
