//! The content of a request's span: Unit's events, and the attributes of OpenTelemetry's HTTP conventions.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use corral_http::request::{HttpVersion, ParsedHead};
use opentelemetry::trace::{Event, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{Array, InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use super::Trace;
use super::part_span::{self, PartSpan};
use crate::request::head::ReceivedRequest;
use crate::variables::RequestVariables;

/// A request as it is queued; its span is made of it by the thread that sends.
pub(crate) struct SpanRecord {
    trace: Trace,
    duration: Duration,
    head: ParsedHead,
    bytes: Vec<u8>,
    path: Vec<u8>,
    client: Option<SocketAddr>,
    tls: bool,
    status: u16,
    n_body_bytes: u64,
    /// The header that the request is known by, and its value.
    id: Option<(String, String)>,
    parts: Vec<PartSpan>,
}

pub(super) fn record(
    trace: Trace,
    request: ReceivedRequest<'_>,
    variables: &RequestVariables<'_>,
    id_header: Option<&str>,
    now: Instant,
) -> SpanRecord {
    let duration = now.saturating_duration_since(request.started);
    SpanRecord {
        parts: part_span::of(trace.span_id, variables.reply, (request.started, duration)),
        trace,
        duration,
        head: request.head.clone(),
        bytes: request.bytes.to_vec(),
        path: variables.path.to_vec(),
        client: variables.client.address,
        tls: variables.client.tls,
        status: variables.reply.status.unwrap_or_default(),
        n_body_bytes: variables.reply.n_body_bytes,
        id: id_header.map(|name| (name.to_ascii_lowercase(), text(variables.memo.id(request.started)))),
    }
}

impl SpanRecord {
    /// How many spans it is.
    pub(super) fn n_spans(&self) -> u64 {
        1 + self.parts.len() as u64
    }

    /// The span of the request, then those of its parts.
    pub(super) fn into_spans(mut self) -> Vec<SpanData> {
        let scope = InstrumentationScope::builder("corral").with_version(env!("CARGO_PKG_VERSION")).build();
        let (parts, started) = (std::mem::take(&mut self.parts), self.trace.started);
        let request = self.into_span(scope.clone());
        let context = request.span_context.clone();
        let parts = parts.into_iter().map(|part| part.into_span(&context, started, &scope));
        [request].into_iter().chain(parts).collect()
    }

    fn into_span(self, scope: InstrumentationScope) -> SpanData {
        let Trace { trace_id, span_id, parent, ref state, started, .. } = self.trace;
        let state = std::str::from_utf8(state).ok().and_then(|state| state.parse::<TraceState>().ok());
        let span_context = SpanContext::new(
            TraceId::from(trace_id),
            SpanId::from(span_id),
            TraceFlags::SAMPLED,
            false,
            state.unwrap_or_default(),
        );
        let end_time = started + self.duration;
        let mut events = SpanEvents::default();
        events.events = self.events().map(|(name, value)| Event::new(name, end_time, value, 0)).collect();
        SpanData {
            span_context,
            parent_span_id: parent.map_or(SpanId::INVALID, SpanId::from),
            parent_span_is_remote: parent.is_some(),
            span_kind: SpanKind::Server,
            name: text(self.head.method(&self.bytes)).into(),
            start_time: started,
            end_time,
            attributes: self.attributes(),
            dropped_attributes_count: 0,
            events,
            links: SpanLinks::default(),
            // What the client did wrong is not an error of the server.
            status: if self.status >= 500 { Status::error("") } else { Status::Unset },
            instrumentation_scope: scope,
        }
    }

    /// As in Unit: one for each request field, then `method`, `path`, `body size` and `status`.
    fn events(&self) -> impl Iterator<Item = (String, Vec<KeyValue>)> {
        let event = |name: String, value: Value| (name.clone(), vec![KeyValue::new(name, value)]);
        let fields = self.head.fields(&self.bytes).map(|(name, value)| (text(name), text(value).into()));
        let others = [
            ("method", text(self.head.method(&self.bytes)).into()),
            ("path", text(&self.path).into()),
            ("body size", self.n_body_bytes.to_string().into()),
            ("status", self.status.to_string().into()),
        ];
        let others = others.into_iter().map(|(name, value)| (name.to_owned(), value));
        fields.chain(others).map(move |(name, value)| event(name, value))
    }

    fn attributes(&self) -> Vec<KeyValue> {
        let Self { head, bytes, .. } = self;
        let host = text(head.host(bytes));
        let mut attributes = vec![
            KeyValue::new("http.request.method", text(head.method(bytes))),
            KeyValue::new("url.path", text(&self.path)),
            KeyValue::new("url.scheme", if self.tls { "https" } else { "http" }),
            KeyValue::new("http.response.status_code", i64::from(self.status)),
            KeyValue::new("http.response.body.size", self.n_body_bytes.cast_signed()),
            KeyValue::new("network.protocol.version", version(head.version())),
        ];
        if let Some(query) = head.query(bytes) {
            attributes.push(KeyValue::new("url.query", text(query)));
        }
        if !host.is_empty() {
            attributes.push(KeyValue::new("server.address", host));
        }
        if let Some(client) = self.client {
            attributes.push(KeyValue::new("client.address", client.ip().to_string()));
            attributes.push(KeyValue::new("client.port", i64::from(client.port())));
        }
        if let Some((name, id)) = &self.id {
            let values = Array::String(vec![id.clone().into()]);
            attributes.push(KeyValue::new(format!("http.request.header.{name}"), Value::Array(values)));
        }
        let agent = head.fields(bytes).find(|(name, _)| name.eq_ignore_ascii_case(b"user-agent"));
        if let Some((_, agent)) = agent {
            attributes.push(KeyValue::new("user_agent.original", text(agent)));
        }
        attributes
    }
}

/// As the conventions for spans have it.
fn version(version: HttpVersion) -> &'static str {
    match version {
        HttpVersion::Http10 => "1.0",
        HttpVersion::Http11 => "1.1",
        HttpVersion::Http2 => "2",
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
