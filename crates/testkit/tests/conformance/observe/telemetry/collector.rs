//! A collector of OpenTelemetry's protocol over HTTP, which keeps what it gets.

use std::sync::{Arc, Mutex};

use corral_testkit::{Origin, eventually};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::metrics::v1::{Metric, ResourceMetrics};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};

/// A collector, by its address.
pub(super) struct Collector {
    origin: Origin,
    received: Arc<Mutex<Received>>,
}

#[derive(Default)]
struct Received {
    spans: Vec<Span>,
    metrics: Vec<ResourceMetrics>,
}

impl Collector {
    pub(super) fn start() -> Self {
        let received = Arc::<Mutex<Received>>::default();
        let kept = Arc::clone(&received);
        let origin = Origin::start(move |peer| {
            while let Some(request) = peer.read_request() {
                kept.lock().expect("no thread panics").take(&request);
                if !peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") {
                    return;
                }
            }
        });
        Self { origin, received }
    }

    /// The settings that lead here, with further members.
    pub(super) fn settings(&self, further: &Value) -> Value {
        let mut settings = json!({ "endpoint": self.url("/v1/traces"), "protocol": "http", "batch_size": 1 });
        let members = settings.as_object_mut().expect("an object");
        members.extend(further.as_object().expect("an object").clone());
        settings
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin.url())
    }

    /// Waits until the spans of a trace are there that are wanted.
    #[track_caller]
    pub(super) fn spans<T>(&self, trace: &str, wanted: impl Fn(&[Span]) -> Option<T>) -> T {
        eventually("the spans arrive", || {
            let received = self.received.lock().expect("no thread panics");
            let of_trace = received.spans.iter().filter(|span| hex(&span.trace_id) == trace);
            wanted(&of_trace.cloned().collect::<Vec<_>>())
        })
    }

    /// Waits until there are figures that are as they should be.
    #[track_caller]
    pub(super) fn metrics<T>(&self, wanted: impl Fn(&ResourceMetrics) -> Option<T>) -> T {
        eventually("the figures arrive", || {
            let received = self.received.lock().expect("no thread panics");
            received.metrics.iter().rev().find_map(&wanted)
        })
    }

    /// The spans and the sets of figures that have come.
    pub(super) fn counts(&self) -> (usize, usize) {
        let received = self.received.lock().expect("no thread panics");
        (received.spans.len(), received.metrics.len())
    }
}

impl Received {
    fn take(&mut self, request: &[u8]) {
        let end = request.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head") + 4;
        let (head, body) = request.split_at(end);
        if head.starts_with(b"POST /v1/traces ") {
            let request = ExportTraceServiceRequest::decode(body).expect("spans");
            let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
            self.spans.extend(scopes.flat_map(|scope| scope.spans));
        } else {
            let request = ExportMetricsServiceRequest::decode(body).expect("figures");
            self.metrics.extend(request.resource_metrics);
        }
    }
}

/// The metric with this name.
pub(super) fn metric<'m>(all: &'m ResourceMetrics, name: &str) -> Option<&'m Metric> {
    all.scope_metrics.iter().flat_map(|scope| &scope.metrics).find(|metric| metric.name == name)
}

/// The value of an attribute, as text.
pub(super) fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    Some(match found.value.as_ref()?.value.as_ref()? {
        AnyValue::StringValue(text) => text.clone(),
        AnyValue::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
