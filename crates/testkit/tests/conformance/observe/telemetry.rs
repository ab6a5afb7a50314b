//! Telemetry (section 17), and the levels and forms of the log, which Unit does not have.

mod collector;
mod grpc;
mod metrics;
mod parts;
mod tls;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use corral_testkit::{PATIENCE, Request, daemon, eventually};
use serde_json::{Value, json};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A collector that takes spans and tells what it got: the head and the body of each request.
fn collector() -> (String, mpsc::Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let sender = sender.clone();
            std::thread::spawn(move || {
                while let Some(request) = read_request(&mut stream) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                    if sender.send(request).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (format!("http://{address}/v1/traces"), receiver)
}

fn read_request(stream: &mut impl Read) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        (stream.read(&mut byte).ok()? == 1).then_some(())?;
        bytes.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&bytes).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn holds(body: &[u8], text: &[u8]) -> bool {
    body.windows(text.len()).any(|window| window == text)
}

/// Options: settings.telemetry.endpoint, settings.telemetry.protocol, settings.telemetry.batch_size,
/// settings.telemetry.service_name
#[test]
fn a_request_is_a_span_of_its_callers_trace() {
    let (endpoint, spans) = collector();
    let telemetry =
        json!({ "endpoint": endpoint, "protocol": "http", "batch_size": 1, "service_name": "shop" });
    let server = daemon()
        .config(
            json!({ "settings": { "telemetry": telemetry }, "routes": [{ "action": { "return": 200 } }] }),
        )
        .start();
    let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
    let request = Request::get("/basket?x=1").field("traceparent", &parent).field("X-Colour", "mauve");
    let response = server.send(&request).expect(200);
    let answered = response.field("traceparent").expect("the trace goes on").to_owned();
    assert!(answered.starts_with(&format!("00-{TRACE}-")) && answered != parent, "{answered}");
    let (head, body) = spans.recv_timeout(PATIENCE).expect("a span arrives");
    assert!(head.starts_with("post /v1/traces "), "{head}");
    for text in ["shop", "/basket", "mauve", "GET"] {
        assert!(holds(&body, text.as_bytes()), "{text} is missing in {}", String::from_utf8_lossy(&body));
    }
    let id: Vec<u8> = (0..16).map(|n| u8::from_str_radix(&TRACE[2 * n..][..2], 16).expect("hex")).collect();
    assert!(holds(&body, &id), "the span is not of the trace");
}

/// Options: settings.telemetry.sampling_ratio
#[test]
fn nothing_is_sent_when_nothing_is_sampled() {
    let (endpoint, spans) = collector();
    let telemetry = json!({ "endpoint": endpoint, "protocol": "http", "batch_size": 1, "sampling_ratio": 0 });
    let server = daemon()
        .config(
            json!({ "settings": { "telemetry": telemetry }, "routes": [{ "action": { "return": 200 } }] }),
        )
        .start();
    for _ in 0..20 {
        server.get("/").expect(200);
    }
    // A caller that keeps its trace decides for its part of it, and so comes first.
    let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
    server.send(&Request::get("/kept").field("traceparent", &parent)).expect(200);
    let (_, body) = spans.recv_timeout(PATIENCE).expect("a span arrives");
    assert!(holds(&body, b"/kept"), "{}", String::from_utf8_lossy(&body));
}

#[test]
fn a_trace_that_is_none_begins_a_new_one() {
    let telemetry = json!({ "endpoint": "http://127.0.0.1:9/", "protocol": "HTTP" });
    let server = daemon()
        .config(
            json!({ "settings": { "telemetry": telemetry }, "routes": [{ "action": { "return": 200 } }] }),
        )
        .start();
    for wrong in ["", "garbage", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "ff-1-2-3"] {
        let response = server.send(&Request::get("/").field("traceparent", wrong)).expect(200);
        let answered = response.field("traceparent").expect("a trace begins");
        assert!(answered.starts_with("00-") && answered.len() == 55, "{answered}");
    }
}

/// Unit answers 500 `Memory allocation failed.` to these.
#[test]
fn values_out_of_bounds_are_refused() {
    let server = daemon().start_unconfigured();
    let refuse = |option: &str, value: Value| {
        let mut telemetry = json!({ "endpoint": "http://127.0.0.1:9/v1/traces", "protocol": "grpc" });
        telemetry[option] = value;
        let reply = server.control().put("/config", &json!({ "settings": { "telemetry": telemetry } }));
        let detail = reply.expect_refused(400, "Invalid configuration.");
        assert!(detail.contains(option), "{detail}");
    };
    refuse("protocol", json!("udp"));
    refuse("batch_size", json!(0));
    refuse("batch_size", json!(65_537));
    refuse("sampling_ratio", json!(-0.1));
    refuse("sampling_ratio", json!(1.1));
    refuse("endpoint", json!("127.0.0.1:4318"));
    for missing in ["endpoint", "protocol"] {
        let mut telemetry = json!({ "endpoint": "http://127.0.0.1:9/", "protocol": "http" });
        telemetry.as_object_mut().expect("an object").remove(missing);
        let reply = server.control().put("/config", &json!({ "settings": { "telemetry": telemetry } }));
        let detail = reply.expect_refused(400, "Invalid configuration.");
        assert_eq!(detail, format!("Required parameter \"{missing}\" is missing."));
    }
}

/// Options: settings.log.level, settings.log.format
#[test]
fn the_log_has_levels_and_a_form_for_machines() {
    let log_with = |log: Value| {
        let config = json!({
            "settings": { "log": log, "http": { "log_route": true } }, "routes": [{ "action": { "return": 200 } }],
        });
        let server = daemon().config(config).start();
        server.get("/marker").expect(200);
        server
    };
    let server = log_with(json!({ "format": "json" }));
    let line = eventually("a line of JSON", || {
        let log = server.log();
        log.lines().find(|line| line.contains("/marker")).map(str::to_owned)
    });
    let line: Value = serde_json::from_str(&line).expect("a line is JSON");
    assert!(
        line.as_object().is_some_and(|members| members.values().any(|value| value == "notice")),
        "{line}"
    );
    let server = log_with(json!({ "level": "warn" }));
    for _ in 0..10 {
        server.get("/marker").expect(200);
    }
    assert!(!server.log().contains("/marker"), "{}", server.log());
}
