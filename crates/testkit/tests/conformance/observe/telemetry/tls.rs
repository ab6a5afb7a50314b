//! Section 17: telemetry to collectors that speak TLS, which Unit does not check.

use std::sync::mpsc;

use corral_testkit::{Authority, Daemon, Origin, PATIENCE, Request, daemon};
use serde_json::{Value, json};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACE_BYTES: [u8; 16] =
    [0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36];

/// An empty SETTINGS frame.
const HTTP2_SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

/// A collector that is `collector.example`; it tells what it gets, and answers each piece with the same.
fn collector(authority: &Authority, answer: &'static [u8]) -> (Origin, mpsc::Receiver<Vec<u8>>) {
    let (sender, pieces) = mpsc::channel();
    let bundle = authority.server("collector", &["collector.example"]);
    let origin = Origin::start_tls(&bundle, move |peer| {
        loop {
            let piece = peer.read();
            if piece.is_empty() || sender.send(piece).is_err() || !peer.write(answer) {
                return;
            }
        }
    });
    (origin, pieces)
}

fn server(authority: &Authority, origin: &Origin, protocol: &str, tls: Value) -> Daemon {
    let server = daemon().start_unconfigured();
    server.control().put_text("/certificates/ca", &authority.bundle().pem()).0.expect(200);
    let endpoint = format!("https://{}/v1/traces", origin.address());
    let telemetry = json!({ "endpoint": endpoint, "protocol": protocol, "batch_size": 1, "tls": tls });
    let config =
        json!({ "settings": { "telemetry": telemetry }, "routes": [{ "action": { "return": 200 } }] });
    server.control().put("/config", &server.with_listener(config)).expect_done();
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    server.send(&Request::get("/").field("traceparent", &parent)).expect(200);
    server
}

/// Whether the span arrives; not when the connection has failed.
fn arrives(pieces: &mpsc::Receiver<Vec<u8>>) -> bool {
    let mut received = Vec::new();
    while let Ok(piece) = pieces.recv_timeout(PATIENCE) {
        received.extend_from_slice(&piece);
        if received.windows(TRACE_BYTES.len()).any(|part| part == TRACE_BYTES) {
            return true;
        }
    }
    false
}

/// Options: settings.telemetry.tls.ca, settings.telemetry.tls.server_name, settings.telemetry.tls.verify
#[test]
fn spans_are_sent_to_collectors_that_speak_tls() {
    let authority = Authority::new("Collectors");
    for (protocol, answer) in
        [("http", &b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"[..]), ("grpc", HTTP2_SETTINGS)]
    {
        for tls in [json!({ "ca": "ca", "server_name": "collector.example" }), json!({ "verify": false })] {
            let (origin, pieces) = collector(&authority, answer);
            let server = server(&authority, &origin, protocol, tls.clone());
            assert!(arrives(&pieces), "{protocol} {tls}\n{}", server.log());
        }
    }
}

#[test]
fn nothing_is_sent_to_somebody_else() {
    let authority = Authority::new("Collectors");
    let other = Authority::new("Others");
    for protocol in ["http", "grpc"] {
        for (authority, name) in [(&other, "collector.example"), (&authority, "other.example")] {
            let (origin, pieces) = collector(&Authority::new("Collectors"), b"");
            let server = server(authority, &origin, protocol, json!({ "ca": "ca", "server_name": name }));
            server.expect_log("spans lost");
            assert!(pieces.try_recv().is_err(), "{protocol} {name}");
        }
    }
}

#[test]
fn what_is_wrong_is_refused() {
    let server = daemon().routes(json!([])).start();
    let refused = |tls: Value, status: u16, title: &str| {
        let telemetry = json!({ "endpoint": "https://127.0.0.1:1/", "protocol": "http", "tls": tls });
        server
            .control()
            .put("/config/settings", &json!({ "telemetry": telemetry }))
            .expect_refused(status, title)
    };
    let invalid = "Invalid configuration.";
    assert_eq!(refused(json!({ "ca": "nobody" }), 400, invalid), "Certificate \"nobody\" is not found.");
    assert_eq!(refused(json!({ "cert": "x" }), 400, invalid), "Unknown parameter \"cert\".");
    let detail = refused(
        json!({ "verify": false, "server_name": "no name" }),
        500,
        "Failed to apply new configuration.",
    );
    assert!(detail.contains("the server name \"no name\""), "{detail}");
}
