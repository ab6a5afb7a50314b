//! Servers that speak TLS.

use corral_testkit::{Authority, Bundle, Origin, Request, daemon};
use serde_json::{Value, json};

/// Options: …action.proxy_options.tls.verify, …action.proxy_options.tls.ca, …action.proxy_options.tls.server_name
#[test]
fn servers_with_tls_have_to_prove_who_they_are() {
    let authority = Authority::new("our own");
    let bundle = authority.server("localhost", &["localhost", "other.example"]);
    let large = "x".repeat(1_000_000);
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{large}", large.len());
    let origin =
        Origin::start_tls(
            &bundle,
            move |peer| {
                while peer.read_request().is_some() && peer.write(response.as_bytes()) {}
            },
        );
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    let upload = Request::new("PUT", "/certificates/ours").body(authority.bundle().pem());
    assert!(server.control().send(&upload).json()["success"].is_string());
    let ask = |host: &str, tls: Value| {
        let url = format!("https://{host}:{}", origin.port());
        let action = json!({ "proxy": url, "proxy_options": { "tls": tls } });
        server.control().put("/config/routes", &json!([{ "action": action }])).expect_done();
        server.get("/").status
    };
    assert_eq!(ask("localhost", json!({})), 502, "nobody knows this authority");
    server.expect_log("invalid peer certificate");
    assert_eq!(ask("localhost", json!({ "verify": false })), 200);
    assert_eq!(ask("localhost", json!({ "ca": "ours" })), 200);
    assert_eq!(ask("127.0.0.1", json!({ "ca": "ours" })), 502, "the certificate is for another name");
    assert_eq!(ask("127.0.0.1", json!({ "ca": "ours", "server_name": "other.example" })), 200);
    assert_eq!(server.get("/").expect(200).body.len(), large.len());
}

/// A certificate that is trusted itself; one of X.509 version 1, as `openssl x509` makes them; and one with a
/// common name alone.
#[test]
fn servers_show_what_openssl_makes() {
    let fixture = Bundle::of_version_1;
    let authority = Authority::new("origin.example");
    let named = authority.server("origin.example", &[]);
    let server = daemon().routes(json!([{ "action": { "return": 200 } }])).start();
    for (name, bundle) in [("ours", authority.bundle()), ("old", fixture("authority.pem"))] {
        let upload = Request::new("PUT", &format!("/certificates/{name}")).body(bundle.pem());
        assert!(server.control().send(&upload).json()["success"].is_string());
    }
    let ask = |bundle: &Bundle, ca: &str, name: &str| {
        let origin = Origin::start_tls(bundle, |peer| {
            peer.read_request();
            peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        });
        let url = format!("https://{}", origin.address());
        let tls = json!({ "ca": ca, "server_name": name });
        let action = json!({ "proxy": url, "proxy_options": { "tls": tls } });
        server.control().put("/config/routes", &json!([{ "action": action }])).expect_done();
        server.get("/").status
    };
    for (bundle, ca) in [(&authority.bundle(), "ours"), (&named, "ours"), (&fixture("signed.pem"), "old")] {
        assert_eq!(ask(bundle, ca, "origin.example"), 200, "{}", server.log());
        assert_eq!(ask(bundle, ca, "other.example"), 502);
    }
    assert_eq!(ask(&fixture("forged.pem"), "old", "origin.example"), 502);
    assert_eq!(ask(&fixture("signed.pem"), "ours", "origin.example"), 502);
    let alternative = authority.server("origin.example", &["other.example"]);
    assert_eq!(ask(&alternative, "ours", "origin.example"), 502, "the common name counts no more");
}
