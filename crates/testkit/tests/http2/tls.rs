//! HTTP/2 over TLS, where both sides agree on it by ALPN.

use corral_testkit::{Authority, Client, Daemon, Http2, Request, TlsClient, daemon};
use serde_json::{Value, json};

/// A daemon that speaks TLS as `localhost`, and a client and an authority that trust it.
#[track_caller]
pub(crate) fn serve_tls(option: Option<Value>, mut config: Value) -> (Daemon, TlsClient, Authority) {
    let authority = Authority::new("Testers");
    let server = daemon().start_unconfigured();
    let bundle = authority.server("localhost", &["localhost"]);
    server.control().put_text("/certificates/bundle", &bundle.pem()).0.expect(200);
    let mut listener = json!({ "pass": "routes", "tls": { "certificate": "bundle" } });
    if let Some(option) = option {
        listener["http2"] = option;
    }
    config["listeners"] = json!({ server.address().to_string(): listener });
    server.control().put("/config", &config).expect_done();
    (server, TlsClient::new(&authority), authority)
}

fn protocol() -> Value {
    json!({ "routes": [{ "action": { "return": 302, "location": "/$protocol" } }] })
}

/// Options: listeners.{addr}.http2
#[test]
fn on_by_default() {
    let (server, tls, _) = serve_tls(None, protocol());
    let mut client = Http2::connect_tls(server.address().socket(), &tls, "localhost");
    let location = client.get("/").expect(302).field("location").map(str::to_owned);
    assert_eq!(location.as_deref(), Some("/HTTP/2.0"));
    let request = Request::get("/").field("Host", "localhost");
    client.send(&request).expect(302);
}

#[test]
fn clients_that_do_not_offer_it_have_http_1() {
    let (server, tls, _) = serve_tls(None, protocol());
    let client = Client::try_connect_http1(server.address().socket()).expect("connect");
    let mut client = client.into_tls(&tls, "localhost").expect("a handshake");
    client.get("/").expect(302).expect_field("Location", "/HTTP/1.1");
    assert_eq!(client.tls().alpn_protocol(), None);
}

#[test]
fn a_listener_can_say_no() {
    let (server, tls, _) = serve_tls(Some(json!(false)), protocol());
    let refused = Http2::try_connect_tls(server.address().socket(), &tls, "localhost");
    assert!(refused.is_err());
    let client = Client::try_connect_http1(server.address().socket()).expect("connect");
    client.into_tls(&tls, "localhost").expect("a handshake").get("/").expect(302);
}

#[test]
fn sessions_are_resumed() {
    let (server, tls, _) = serve_tls(None, protocol());
    let session = format!("/config/listeners/{}/tls/session", server.address());
    server.control().put(&session, &json!({ "tickets": true })).expect_done();
    let connect = || {
        let mut client = Http2::connect_tls(server.address().socket(), &tls, "localhost");
        client.get("/").expect(302);
        client.is_resumed()
    };
    assert!(!connect());
    // The tickets come with the first reply.
    assert!(connect());
}

/// Without `prior_knowledge`, the preface is a request of HTTP/1 that is none.
#[test]
fn without_tls_it_has_to_be_asked_for() {
    let server = daemon().start_unconfigured();
    let listeners = json!({ server.address().to_string(): { "pass": "routes", "http2": true } });
    let mut config = protocol();
    config["listeners"] = listeners;
    server.control().put("/config", &config).expect_done();
    let mut client = Client::try_connect_http1(server.address().socket()).expect("connect");
    client.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let response = client.read_response();
    assert!(matches!(response.status, 400 | 505), "{response}");
}
