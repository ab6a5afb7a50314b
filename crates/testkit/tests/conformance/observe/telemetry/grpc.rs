//! Section 17: `settings.telemetry` over gRPC, and without a collector.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use corral_testkit::{Daemon, Request, daemon, eventually};
use serde_json::{Value, json};

/// Takes everything that comes, and answers each piece.
#[derive(Clone)]
struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Vec<u8>>>,
}

impl Collector {
    /// `answer` is sent once something has come.
    fn start(answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let address = listener.local_addr().expect("it is bound");
        let received = Arc::new(Mutex::new(Vec::new()));
        let collector = Self { address, received };
        let theirs = collector.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let collector = theirs.clone();
                std::thread::spawn(move || collector.take(stream, answer));
            }
        });
        collector
    }

    fn take(&self, mut stream: TcpStream, answer: &[u8]) {
        let mut buffer = [0; 16384];
        while let Ok(n @ 1..) = stream.read(&mut buffer) {
            self.received.lock().expect("no thread panics").extend_from_slice(&buffer[..n]);
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }

    #[track_caller]
    fn expect(&self, what: &[u8]) {
        eventually(&format!("{} arrives", String::from_utf8_lossy(what)), || {
            let received = self.received.lock().expect("no thread panics");
            received.windows(what.len()).any(|part| part == what).then_some(())
        });
    }
}

/// An empty SETTINGS frame.
const HTTP2_SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACE_BYTES: [u8; 16] =
    [0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36];

fn server(telemetry: Value) -> Daemon {
    daemon()
        .config(
            json!({ "settings": { "telemetry": telemetry }, "routes": [{ "action": { "return": 200 } }] }),
        )
        .start()
}

#[test]
fn spans_are_sent_over_grpc() {
    let collector = Collector::start(HTTP2_SETTINGS);
    let endpoint = format!("http://{}", collector.address);
    let server = server(json!({ "endpoint": endpoint, "protocol": "grpc", "batch_size": 1 }));
    server
        .send(&Request::get("/").field("traceparent", &format!("00-{TRACE}-00f067aa0ba902b7-01")))
        .expect(200);
    collector.expect(b"PRI * HTTP/2.0");
    collector.expect(&TRACE_BYTES);
}

#[test]
fn figures_are_sent_over_grpc() {
    let collector = Collector::start(HTTP2_SETTINGS);
    let endpoint = format!("http://{}", collector.address);
    let metrics = json!({ "interval": 1 });
    let server = server(json!({ "endpoint": endpoint, "protocol": "grpc", "metrics": metrics }));
    server.get("/").expect(200);
    collector.expect(b"PRI * HTTP/2.0");
    collector.expect(b"corral_http_request_duration_seconds");
}

#[test]
fn a_collector_that_is_not_there_hurts_nobody() {
    for protocol in ["http", "grpc"] {
        let server = server(
            json!({ "endpoint": "http://127.0.0.1:1/v1/traces", "protocol": protocol, "batch_size": 1 }),
        );
        for _ in 0..100 {
            server.get("/").expect(200);
        }
        server.expect_log("spans lost");
    }
}

/// A mistake that only the exporters notice is an error of the change, and nothing more.
#[test]
fn an_endpoint_that_is_no_url_is_refused() {
    let server = daemon().routes(json!([{ "action": { "return": 204 } }])).start();
    for protocol in ["http", "grpc"] {
        let telemetry = json!({ "endpoint": "http://[::1/v1/traces", "protocol": protocol });
        let reply = server.control().put("/config/settings", &json!({ "telemetry": telemetry }));
        let detail = reply.expect_refused(500, "Failed to apply new configuration.");
        assert!(detail.contains("prepare the telemetry for \"http://[::1/v1/traces\""), "{detail}");
        server.get("/").expect(204);
    }
    assert!(!server.log().contains("[alert]"), "{}", server.log());
}
