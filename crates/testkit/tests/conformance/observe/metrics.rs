//! `/metrics`: the figures of `/status` and more, in the formats of Prometheus.

mod connections;
mod http2;
mod inner;
mod queues;
mod refusals;
mod replaced;
mod requests;
mod returned;
mod tls;
mod upgrade;
mod upstreams;

use std::collections::HashMap;
use std::io::Write;
use std::process::{Command, Stdio};

use corral_testkit::{Client, Daemon, Origin, PATIENCE, Request, daemon, eventually, php_app, site, within};
use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model::MetricFamily;
use prost::Message as _;
use serde_json::json;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The text in this format.
#[track_caller]
fn text(server: &Daemon, accept: &str, media_type: &str) -> String {
    let request = Request::get("/metrics").field("Accept", accept);
    // There are no figures while a router begins.
    let reply = eventually("there are figures", || {
        let reply = server.control().send(&request).0;
        (reply.status == 200).then_some(reply)
    });
    assert_eq!(reply.field("Content-Type"), Some(media_type));
    reply.text()
}

/// The samples by their names and labels.
fn samples(server: &Daemon) -> HashMap<String, f64> {
    parse(&text(server, "application/openmetrics-text", OPEN_METRICS))
}

/// The samples of a text.
fn parse(text: &str) -> HashMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        (name.to_owned(), value.parse().expect("a number"))
    };
    lines.map(sample).collect()
}

/// Waits until a sample has a value.
#[track_caller]
fn expect_sample(server: &Daemon, name: &str, value: f64) {
    let mut last = None;
    let found = within(PATIENCE, || {
        last = samples(server).get(name).copied();
        (last == Some(value)).then_some(())
    });
    assert!(found.is_some(), "{name} is {last:?}, not {value}");
}

#[test]
fn both_formats_are_there() {
    let server = daemon().routes(json!([{ "action": { "return": 204 } }])).start();
    server.get("/").expect(204);
    let open = text(&server, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5", OPEN_METRICS);
    assert!(open.ends_with("# EOF\n"), "{open}");
    assert!(open.contains("\n# TYPE corral_requests counter\n"), "{open}");
    let plain = text(&server, "*/*", TEXT);
    assert!(
        plain.contains("\n# TYPE corral_requests_total counter\n") && !plain.contains("# EOF"),
        "{plain}"
    );
    server.control().send(&Request::new("HEAD", "/metrics")).0.expect(200).expect_body("");
    server.control().send(&Request::post("/metrics")).expect_refused(405, "Invalid method.");
    server.control().get("/metrics/x").expect_refused(404, "Value doesn't exist.");
}

#[test]
fn applications_and_servers_have_their_figures() {
    let site = site().file("index.php", "<?php http_response_code((int) $_GET['s']);");
    let origin = Origin::saying("x");
    let server = daemon().application(php_app(&site).processes(2)).start();
    let upstreams = json!({ "pool": { "servers": { origin.address(): {} } } });
    server.control().put("/config/upstreams", &upstreams).expect_done();
    server.get("/?s=200").expect(200);
    server.get("/?s=500").expect(500);
    for (name, value) in [
        ("corral_application_requests_total{application=\"php\",status=\"2xx\"}", 1.0),
        ("corral_application_requests_total{application=\"php\",status=\"5xx\"}", 1.0),
        ("corral_application_request_duration_seconds_count{application=\"php\"}", 2.0),
        ("corral_application_processes{application=\"php\",state=\"running\"}", 2.0),
        ("corral_application_failing{application=\"php\"}", 0.0),
    ] {
        expect_sample(&server, name, value);
    }
    let up = format!("corral_upstream_server_up{{upstream=\"pool\",server=\"{}\"}}", origin.address());
    expect_sample(&server, &up, 1.0);
    server.control().delete("/config/upstreams").expect_done();
    assert!(!samples(&server).contains_key(&up), "it has left");
}

const MESSAGES: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Prometheus asks for these where it is to keep native histograms.
#[test]
fn messages_of_protobuf_have_native_histograms() {
    let server = daemon().routes(json!([{ "action": { "return": 204 } }])).start();
    for _ in 0..3 {
        server.get("/").expect(204);
    }
    expect_sample(&server, "corral_requests_total", 3.0);
    let accept = format!("{MESSAGES};q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1");
    let reply = server.control().send(&Request::get("/metrics").field("Accept", &accept)).0.expect(200);
    assert_eq!(reply.field("Content-Type"), Some(MESSAGES));
    let mut bytes = &*reply.body;
    let mut families = HashMap::new();
    while !bytes.is_empty() {
        let family = MetricFamily::decode_length_delimited(&mut bytes).expect("a family behind its length");
        families.insert(family.name.clone(), family);
    }
    let requests = &families["corral_requests_total"].metric[0];
    assert_eq!(requests.counter.as_ref().map(|counter| counter.value), Some(3.0));
    let durations = &families["corral_http_request_duration_seconds"].metric[0];
    let durations = durations.histogram.as_ref().expect("a histogram");
    assert_eq!((durations.schema, durations.sample_count, durations.bucket.len()), (2, 3, 17));
    // Counts are told as differences.
    let mut count = 0;
    let counts = durations.positive_delta.iter().map(|delta| {
        count += delta;
        count
    });
    assert_eq!(counts.sum::<i64>() + i64::try_from(durations.zero_count).expect("few"), 3);
    let n_buckets: u32 = durations.positive_span.iter().map(|span| span.length).sum();
    assert_eq!(n_buckets as usize, durations.positive_delta.len());
}

/// A traced request stands for those that took as long, where a format has a place for it.
#[test]
fn traced_requests_are_exemplars() {
    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    let telemetry =
        json!({ "endpoint": "http://127.0.0.1:9/v1/traces", "protocol": "http", "sampling_ratio": 0 });
    let server = daemon()
        .config(
            json!({ "settings": { "telemetry": telemetry }, "routes": [{ "action": { "return": 204 } }] }),
        )
        .start();
    server.get("/").expect(204);
    let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
    server.send(&Request::get("/").field("traceparent", &parent)).expect(204);
    let open = eventually("the request is counted", || {
        let open = text(&server, "application/openmetrics-text", OPEN_METRICS);
        open.contains("trace_id").then_some(open)
    });
    let traced: Vec<_> = open.lines().filter(|line| line.contains(" # {")).collect();
    let [line] = traced[..] else { panic!("{open}") };
    assert!(line.starts_with("corral_http_request_duration_seconds_bucket{le="), "{line}");
    assert!(line.contains(&format!(" # {{trace_id=\"{TRACE}\"}} 0.")), "{line}");
    assert!(!text(&server, "", TEXT).contains("trace_id"), "the older format has no place for them");
}

/// Names are anything that a document permits, and stay one label.
#[test]
fn names_are_written_so_that_nothing_gets_out() {
    let name = "a\"b\\c\nd{}e=\"1\"} 5";
    let server = daemon().routes(json!([])).start();
    let upstreams = json!({ name: { "servers": { "127.0.0.1:1": { "max_conns": 1 } } } });
    server.control().put("/config/upstreams", &upstreams).expect_done();
    let text = text(&server, "application/openmetrics-text", OPEN_METRICS);
    let line = "corral_upstream_waiting{upstream=\"a\\\"b\\\\c\\nd{}e=\\\"1\\\"} 5\"} 0.0";
    assert!(text.lines().any(|found| found == line), "{text}");
}

/// Counters go on when a router is replaced, be it by an upgrade or because it was killed.
#[test]
fn no_counter_goes_backwards() {
    let server = daemon().routes(json!([{ "action": { "return": 204 } }])).start();
    for _ in 0..3 {
        server.get("/").expect(204);
    }
    expect_sample(&server, "corral_requests_total", 3.0);
    let before = samples(&server);
    server.kill(server.expect_processes("router", 1)[0]);
    eventually("it serves again", || {
        let mut client = Client::try_connect(server.address().socket()).ok()?;
        client.try_send(&Request::get("/")).ok().filter(|reply| reply.status == 204)
    });
    let after = eventually("it is counted", || {
        let after = samples(&server);
        (after.get("corral_requests_total")? >= &4.0).then_some(after)
    });
    for (name, value) in before.iter().filter(|(name, _)| name.contains("_total") || name.contains("_count"))
    {
        assert!(
            after.get(name).is_some_and(|now| now >= value),
            "{name} was {value}, is {:?}",
            after.get(name)
        );
    }
}

/// The program `promtool` with these arguments and this input finds nothing wrong.
#[track_caller]
fn promtool(arguments: &[&str], input: &str) {
    let mut child = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is installed");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn promtool_finds_nothing_in_the_text() {
    let site = site().file("index.php", "<?php echo 1;");
    let server = daemon().application(php_app(&site)).start();
    let upstreams = json!({ "pool": { "servers": { "127.0.0.1:1": { "max_conns": 1 } } } });
    server.control().put("/config/upstreams", &upstreams).expect_done();
    server.get("/").expect(200);
    promtool(&["check", "metrics"], &text(&server, "", TEXT));
}

#[test]
fn the_alerts_that_are_shipped_are_raised_when_they_should_be() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/prometheus");
    promtool(&["check", "rules", &format!("{folder}/corral.rules.yml")], "");
    promtool(&["test", "rules", &format!("{folder}/corral.rules.test.yml")], "");
}

/// The label of the protocol is that of the client.
mod http1_only {
    use super::*;

    #[test]
    fn requests_are_counted_by_listener_protocol_and_class() {
        let server =
            daemon().routes(json!([{ "match": { "uri": "/204" }, "action": { "return": 204 } }])).start();
        let listener = server.address().to_string();
        server.get("/204").expect(204);
        server.get("/none").expect(404);
        let mut client = server.connect();
        client.write("GET /204 HTTP/1.0\r\n\r\n");
        client.read_response().expect(204);
        let requests = |protocol: &str, class: &str| {
            format!(
                "corral_http_requests_total{{listener=\"{listener}\",protocol=\"{protocol}\",status=\"{class}\"}}"
            )
        };
        for (protocol, class) in [("HTTP/1.1", "2xx"), ("HTTP/1.1", "4xx"), ("HTTP/1.0", "2xx")] {
            expect_sample(&server, &requests(protocol, class), 1.0);
        }
        let samples = samples(&server);
        assert_eq!(samples["corral_requests_total"], 3.0);
        // The request that no step was for counts for none.
        assert_eq!(samples["corral_route_requests_total{step=\"/routes/0\",status=\"2xx\"}"], 2.0);
        let duration = format!("corral_http_request_duration_seconds_count{{listener=\"{listener}\"}}");
        assert_eq!(samples[&duration], 3.0);
        let longest =
            format!("corral_http_request_duration_seconds_bucket{{le=\"+Inf\",listener=\"{listener}\"}}");
        assert_eq!(samples[&longest], 3.0);
        // A change of something else begins nothing anew.
        server.control().put("/config/settings", &json!({ "http": { "max_body_size": 10 } })).expect_done();
        server.get("/204").expect(204);
        expect_sample(&server, &requests("HTTP/1.1", "2xx"), 2.0);
    }
}
