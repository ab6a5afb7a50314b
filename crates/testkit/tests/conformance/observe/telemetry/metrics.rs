//! Figures of the whole server for a collector of OpenTelemetry, beside the spans.

use corral_testkit::{Daemon, Origin, Request, daemon, eventually};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, HistogramDataPoint, ResourceMetrics};
use serde_json::{Value, json};

use super::collector::{Collector, attribute, hex, metric};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn server(telemetry: &Value) -> Daemon {
    daemon()
        .config(
            json!({ "settings": { "telemetry": telemetry }, "routes": [{ "action": { "return": 204 } }] }),
        )
        .start()
}

/// The sum of a counter that only grows, and since when it does.
fn sum(all: &ResourceMetrics, name: &str) -> Option<(i64, u64)> {
    let Some(Data::Sum(sum)) = &metric(all, name)?.data else { panic!("{name} is not a sum") };
    assert!(
        sum.is_monotonic && sum.aggregation_temporality() == AggregationTemporality::Cumulative,
        "{sum:?}"
    );
    let numbers = sum.data_points.iter().map(|point| match point.value {
        Some(Number::AsInt(number)) => number,
        _ => panic!("{name} is not an integer"),
    });
    Some((numbers.sum(), sum.data_points.first()?.start_time_unix_nano))
}

fn durations(all: &ResourceMetrics) -> Option<&HistogramDataPoint> {
    let Some(Data::Histogram(histogram)) = &metric(all, "corral_http_request_duration_seconds")?.data else {
        panic!("durations are not a histogram")
    };
    histogram.data_points.first()
}

/// Options: settings.telemetry.metrics, settings.telemetry.metrics.interval
#[test]
fn figures_are_sent_with_their_kinds_and_the_time_since_when_they_count() {
    let collector = Collector::start();
    let server =
        server(&collector.settings(&json!({ "metrics": { "interval": 1 }, "service_name": "shop" })));
    let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
    server.get("/").expect(204);
    server.get("/").expect(204);
    // The last one of a range is its exemplar.
    server.send(&Request::get("/").field("traceparent", &parent)).expect(204);
    let all = collector.metrics(|all| (sum(all, "corral_http_requests")?.0 == 3).then(|| all.clone()));
    let resource = all.resource.as_ref().expect("it says whose they are");
    assert_eq!(attribute(&resource.attributes, "service.name").as_deref(), Some("shop"));
    assert!(attribute(&resource.attributes, "service.instance.id").is_some_and(|host| !host.is_empty()));
    let (_, start) = sum(&all, "corral_http_requests").expect("it was found");
    let durations = durations(&all).expect("each listener has durations");
    assert_eq!((durations.count, durations.bucket_counts.iter().sum::<u64>()), (3, 3));
    assert_eq!((durations.bucket_counts.len(), durations.explicit_bounds.len()), (17, 16));
    assert!(start > 0 && start < durations.time_unix_nano, "{durations:?}");
    assert_eq!(attribute(&durations.attributes, "listener"), Some(server.address().to_string()));
    assert!(durations.exemplars.iter().any(|one| hex(&one.trace_id) == TRACE), "{durations:?}");
    let build = metric(&all, "corral_build_info").expect("each figure of the table is sent");
    assert!(matches!(build.data, Some(Data::Gauge(_))), "{build:?}");
}

/// Options: settings.telemetry.metrics.endpoint
#[test]
fn figures_may_go_to_another_collector() {
    let (spans, figures) = (Collector::start(), Collector::start());
    let metrics = json!({ "interval": 1, "endpoint": figures.url("/api/v1/otlp/v1/metrics") });
    let server = server(&spans.settings(&json!({ "metrics": metrics })));
    server.get("/").expect(204);
    figures.metrics(|all| sum(all, "corral_requests"));
    eventually("the span arrives", || (spans.counts().0 > 0).then_some(()));
    assert_eq!((spans.counts().1, figures.counts().0), (0, 0), "each gets its own");
}

/// Nothing more is sent there once it is not wanted, and a change of something else begins nothing anew.
#[test]
fn the_configuration_decides_while_it_is_in_force() {
    let collector = Collector::start();
    let server = server(&collector.settings(&json!({ "metrics": { "interval": 1 } })));
    let (first, start) = collector.metrics(|all| sum(all, "corral_requests"));
    server.control().put("/config/settings/http", &json!({ "max_body_size": 10 })).expect_done();
    server.get("/").expect(204);
    let (now, same_start) = collector.metrics(|all| sum(all, "corral_requests").filter(|(n, _)| *n > first));
    assert_eq!(same_start, start, "another beginning would be a reset");
    // The next collector gets its first figures when the one before would have had two more sets.
    let next = Collector::start();
    let metrics = json!({ "interval": 3, "endpoint": next.url("/v1/metrics") });
    server.control().put("/config/settings/telemetry/metrics", &metrics).expect_done();
    server.get("/").expect(204);
    next.metrics(|all| sum(all, "corral_requests").filter(|(n, _)| *n > now));
    let (latest, _) = collector.metrics(|all| sum(all, "corral_requests"));
    assert_eq!(latest, now, "nothing was sent there of what came later");
}

/// As Prometheus counts: an upgrade and a router that was killed take nothing away.
#[test]
fn sums_go_on_when_a_router_is_killed() {
    let collector = Collector::start();
    let server = server(&collector.settings(&json!({ "metrics": { "interval": 1 } })));
    server.get("/").expect(204);
    let (_, start) = collector.metrics(|all| sum(all, "corral_http_requests").filter(|(n, _)| *n == 1));
    server.kill(server.expect_processes("router", 1)[0]);
    eventually("it serves again", || {
        let mut client = corral_testkit::Client::try_connect(server.address().socket()).ok()?;
        client.try_send(&Request::get("/")).ok().filter(|reply| reply.status == 204)
    });
    let (_, same) = collector.metrics(|all| sum(all, "corral_http_requests").filter(|(n, _)| *n >= 2));
    assert_eq!(same, start, "another beginning would be a reset");
}

/// Another controller, and another main process after an upgrade, go on with what was counted.
#[test]
fn counting_begins_once() {
    let collector = Collector::start();
    let mut server = server(&collector.settings(&json!({ "metrics": { "interval": 1 } })));
    server.get("/").expect(204);
    let (mut last, start) = collector.metrics(|all| sum(all, "corral_requests").filter(|(n, _)| *n > 0));
    assert!(start > 0);
    let mut expect_more = |server: &Daemon| {
        server.get("/").expect(204);
        let (n, same) = collector.metrics(|all| sum(all, "corral_requests").filter(|(n, _)| *n > last));
        assert_eq!(same, start, "another beginning would be a reset");
        last = n;
    };
    server.kill(server.expect_processes("controller", 1)[0]);
    expect_more(&server);
    server.upgrade();
    expect_more(&server);
}

#[test]
fn a_collector_that_is_away_is_said_and_waited_for_by_nothing() {
    for protocol in ["http", "grpc"] {
        let endpoint = "http://127.0.0.1:1/v1/traces";
        let server =
            server(&json!({ "endpoint": endpoint, "protocol": protocol, "metrics": { "interval": 1 } }));
        server.expect_log("sets of figures lost");
        server.get("/").expect(204);
        assert!(server.control().get("/status").json().is_object());
        assert_eq!(server.log().matches("sets of figures lost").count(), 1, "{}", server.log());
    }
}

/// The collector takes what it is sent and says nothing, so that each sending lasts as long as it may.
#[test]
fn a_collector_that_never_answers_holds_nothing_up() {
    let origin = Origin::start(|peer| while !peer.read().is_empty() {});
    let endpoint = format!("{}/v1/traces", origin.url());
    let server = server(&json!({ "endpoint": endpoint, "protocol": "http", "metrics": { "interval": 1 } }));
    for _ in 0..100 {
        server.get("/").expect(204);
    }
    server.expect_log("sets of figures lost: no answer within 10 s");
    server.get("/").expect(204);
    server.control().put("/config/settings", &json!({})).expect_done();
    server.get("/").expect(204);
}

#[test]
fn a_collector_that_refuses_is_said() {
    let origin = Origin::answering("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
    let endpoint = format!("{}/v1/traces", origin.url());
    let server = server(&json!({ "endpoint": endpoint, "protocol": "http", "metrics": { "interval": 1 } }));
    server.expect_log("sets of figures lost: status 403");
}
