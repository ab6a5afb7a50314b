//! Spans of the parts of a request, and which of them others are told.

use std::thread;

use corral_testkit::{Daemon, Origin, Request, daemon, php_app, site};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use serde_json::json;

use super::collector::{Collector, attribute, hex};

const PARENT: &str = "b7ad6b7169203331";

/// A trace for each number.
fn trace(n: u8) -> String {
    format!("0af7651916cd43dd8448eb211c8031{n:02x}")
}

fn traced(target: &str, n: u8) -> Request {
    Request::get(target).field("traceparent", &format!("00-{}-{PARENT}-01", trace(n)))
}

/// The span with this name, if there is exactly one.
fn only<'s>(spans: &'s [Span], name: &str) -> Option<&'s Span> {
    let mut named = spans.iter().filter(|span| span.name == name);
    named.next().filter(|_| named.next().is_none())
}

/// The span that a `traceparent` names.
#[track_caller]
fn told(traceparent: &str) -> String {
    traceparent.split('-').nth(2).unwrap_or_else(|| panic!("no trace: {traceparent}")).to_owned()
}

fn millis(span: &Span) -> u64 {
    (span.end_time_unix_nano - span.start_time_unix_nano) / 1_000_000
}

fn with_telemetry(server: &Daemon, collector: &Collector) {
    let settings = json!({ "telemetry": collector.settings(&json!({})) });
    server.control().put("/config/settings", &settings).expect_done();
}

/// Two requests at once for one process: the second one waits for the first.
#[test]
fn a_request_that_waits_has_a_queue_and_a_worker() {
    let collector = Collector::start();
    let script = "<?php usleep(150_000); echo getmypid(), ' ', $_SERVER['HTTP_TRACEPARENT'];";
    let site = site().file("index.php", script);
    let server = &daemon().application(php_app(&site).processes(1)).start();
    with_telemetry(server, &collector);
    let replies = thread::scope(|scope| {
        let asking = [1, 2].map(|n| (n, scope.spawn(move || server.send(&traced("/", n)))));
        asking.map(|(n, reply)| (n, reply.join().expect("it ends").expect(200)))
    });
    let mut longest_queue = 0;
    for (n, reply) in replies {
        let text = reply.text();
        let (pid, parent) = text.split_once(' ').expect("two words");
        let (request, queue, worker) = collector.spans(&trace(n), |spans| {
            let request = spans.iter().find(|span| span.kind == SpanKind::Server as i32)?.clone();
            Some((request, only(spans, "queue").cloned(), only(spans, "worker")?.clone()))
        });
        assert_eq!(hex(&request.parent_span_id), PARENT);
        assert_eq!(worker.parent_span_id, request.span_id);
        assert_eq!(hex(&worker.span_id), told(parent), "the script is told the span that stands for it");
        let answered = reply.field("traceparent").expect("the client is told of the request");
        assert_eq!(hex(&request.span_id), told(answered));
        assert_eq!(attribute(&worker.attributes, "process.pid").as_deref(), Some(pid));
        assert_eq!(attribute(&worker.attributes, "corral.application").as_deref(), Some("php"));
        assert!((140..5000).contains(&millis(&worker)), "{worker:?}");
        let within = |part: &Span| {
            part.start_time_unix_nano >= request.start_time_unix_nano
                && part.end_time_unix_nano <= request.end_time_unix_nano
        };
        assert!(within(&worker), "{request:?} {worker:?}");
        if let Some(queue) = queue {
            assert_eq!(queue.parent_span_id, request.span_id);
            assert!(
                within(&queue) && queue.end_time_unix_nano <= worker.start_time_unix_nano,
                "{queue:?} {worker:?}"
            );
            longest_queue = longest_queue.max(millis(&queue));
        }
    }
    assert!(longest_queue >= 100, "the second request has waited for {longest_queue} ms");
}

#[test]
fn each_server_that_is_tried_has_a_span() {
    let (collector, origin) = (Collector::start(), Origin::echo());
    let servers = json!({ "127.0.0.1:1": {}, origin.address(): {} });
    let server = daemon()
        .config(json!({
            "routes": [{ "action": { "pass": "upstreams/pool" } }],
            "upstreams": { "pool": { "servers": servers } },
        }))
        .start();
    with_telemetry(&server, &collector);
    // Each server is the first one for some.
    for n in 0..4 {
        let text = server.send(&traced("/", n)).expect(200).text().to_lowercase();
        let parent =
            text.lines().find_map(|line| line.strip_prefix("traceparent: ")).expect("the server is told");
        let (request, tries) = collector.spans(&trace(n), |spans| {
            let request = spans.iter().find(|span| span.kind == SpanKind::Server as i32)?.clone();
            let mut tries: Vec<_> = spans.iter().filter(|span| span.name == "upstream").cloned().collect();
            tries.sort_by_key(|span| span.start_time_unix_nano);
            Some((request, tries))
        });
        let last = tries.last().expect("one has answered");
        assert_eq!((hex(&last.span_id), last.kind), (told(parent), SpanKind::Client as i32));
        assert_eq!(last.parent_span_id, request.span_id);
        assert_eq!(attribute(&last.attributes, "server.address").as_deref(), Some("127.0.0.1"));
        assert_eq!(attribute(&last.attributes, "server.port"), Some(origin.port().to_string()));
        assert_eq!(attribute(&last.attributes, "http.response.status_code").as_deref(), Some("200"));
        assert!(last.status.as_ref().is_none_or(|status| status.code() != StatusCode::Error), "{last:?}");
        if let [first, _] = &*tries {
            assert_eq!(attribute(&first.attributes, "server.port").as_deref(), Some("1"));
            let status = first.status.as_ref().expect("it has failed");
            assert!(status.code() == StatusCode::Error && status.message.contains("connect"), "{first:?}");
            assert_eq!(attribute(&last.attributes, "http.request.resend_count").as_deref(), Some("1"));
            assert_ne!(first.span_id, last.span_id);
            return;
        }
    }
    panic!("the first server was never tried");
}

/// A client that is not to be traced is passed on as such, and no span is made.
#[test]
fn what_is_not_sampled_has_no_parts() {
    let (collector, origin) = (Collector::start(), Origin::echo());
    let server = daemon().routes(json!([{ "action": { "proxy": origin.url() } }])).start();
    with_telemetry(&server, &collector);
    let parent = format!("00-{}-{PARENT}-00", trace(1));
    let text =
        server.send(&Request::get("/").field("traceparent", &parent)).expect(200).text().to_lowercase();
    let passed =
        text.lines().find_map(|line| line.strip_prefix("traceparent: ")).expect("the server is told");
    assert!(passed.starts_with(&format!("00-{}-", trace(1))) && passed.ends_with("-00"), "{passed}");
    server.send(&traced("/", 2)).expect(200);
    collector.spans(&trace(2), |spans| only(spans, "upstream").map(drop));
    assert_eq!(collector.counts().0, 2, "of the second request alone");
}

/// A part of a request that its client does not wait for has an end all the same.
#[test]
fn a_client_that_leaves_has_spans() {
    let collector = Collector::start();
    let site = site().file("index.php", "<?php echo str_repeat('x', 1000); flush(); sleep(1);");
    let server = daemon().application(php_app(&site).processes(1)).start();
    with_telemetry(&server, &collector);
    let mut client = server.connect();
    client.write(traced("/", 7).encode());
    assert!(!client.read_some().is_empty(), "the reply begins");
    drop(client);
    let worker = collector.spans(&trace(7), |spans| only(spans, "worker").cloned());
    assert_eq!(attribute(&worker.attributes, "corral.application").as_deref(), Some("php"));
}
