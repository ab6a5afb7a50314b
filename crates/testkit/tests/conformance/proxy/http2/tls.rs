//! Servers that speak HTTP/2 over TLS.

use corral_testkit::{Authority, Bundle, Daemon, Http2Origin, Origin, Request, daemon};
use serde_json::json;

fn bundle() -> Bundle {
    Authority::new("our own").server("localhost", &["localhost"])
}

fn start(port: u16) -> Daemon {
    let options = json!({ "http2": true, "tls": { "verify": false } });
    let action = json!({ "proxy": format!("https://localhost:{port}"), "proxy_options": options });
    daemon().routes(json!([{ "action": action }])).start()
}

#[test]
fn http2_is_agreed_on() {
    let origin = Http2Origin::start_tls(&bundle(), &["http/1.1", "h2"], |mut asked| async move {
        let scheme = asked.request.uri().scheme_str().unwrap_or_default().to_owned();
        let mut body = asked.read_all().await;
        body.extend_from_slice(scheme.as_bytes());
        asked.answer(200, &[], body).await;
    });
    let server = start(origin.port());
    server.get("/").expect(200).expect_body("https");
    let large = vec![b'x'; 2_000_000];
    let response = server.send(&Request::new("POST", "/").body(&large)).expect(200);
    assert_eq!(response.body.len(), large.len() + 5);
}

#[test]
fn who_does_not_agree_is_named() {
    let refusing = Http2Origin::start_tls(&bundle(), &["http/1.1"], |_| async {});
    let silent = Origin::start_tls(&bundle(), |peer| while peer.read_request().is_some() {});
    for port in [refusing.port(), silent.port()] {
        let server = start(port);
        server.get("/").expect(502);
        server.expect_log("it does not agree to speak HTTP/2 (ALPN)");
    }
}
