//! The authority of these tests itself, and what tests may ask of it.

use corral_testkit::pebble::{Options, Pebble};
use corral_testkit::{Client, Request, Response, TlsClient};

/// A request to its API.
#[track_caller]
fn ask(pebble: &Pebble, request: &Request) -> Response {
    let address = pebble.address();
    let tls = TlsClient::trusting(&pebble.root_ca_pem());
    Client::connect(address)
        .into_tls(&tls, &address.ip().to_string())
        .expect("its certificate is of the authority for it")
        .send(&request.clone().field("Host", &address.to_string()).field("User-Agent", "test"))
}

#[test]
fn the_directory_is_answered_over_tls() {
    let pebble = Pebble::start(Options::default());
    let directory = ask(&pebble, &Request::get("/dir")).expect(200).json();
    let order = directory["newOrder"].as_str().expect("a URL");
    assert!(order.starts_with(&format!("https://{}/", pebble.address())), "{order}");
    assert_eq!(pebble.directory_url(), format!("https://{}/dir", pebble.address()));
    assert_eq!(directory["meta"]["externalAccountRequired"], false);
}

#[test]
fn profiles_and_external_accounts_are_announced() {
    let week = std::time::Duration::from_secs(6 * 24 * 60 * 60);
    let pebble = Pebble::start(Options {
        profiles: vec![("shortlived".into(), week)],
        external_accounts: vec![("key-1".into(), "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0".into())],
        ..Options::default()
    });
    let meta = ask(&pebble, &Request::get("/dir")).expect(200).json()["meta"].clone();
    assert_eq!(meta["externalAccountRequired"], true);
    assert!(meta["profiles"]["shortlived"].is_string() && meta["profiles"]["default"].is_string(), "{meta}");
}

#[test]
fn a_restart_makes_another_issuer_at_the_same_ports() {
    let mut pebble = Pebble::start(Options::default());
    let before = pebble.issuer_roots_pem();
    assert!(before.starts_with("-----BEGIN CERTIFICATE-----"), "{before}");
    pebble.stop();
    assert!(Client::try_connect_http1(pebble.address()).is_err(), "nobody listens");
    pebble.start_again();
    ask(&pebble, &Request::get("/dir")).expect(200);
    assert_ne!(pebble.issuer_roots_pem(), before);
}
