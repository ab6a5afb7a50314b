//! `settings.log` and `settings.telemetry` (contract 17; its bounds are FreeUnit's).

use std::time::Duration;

use super::super::context::Context;
use super::super::proxy::TLS;
use super::super::scalars::seconds;
use super::super::schema::{self, Field, INTEGER, Member, NUMBER, OBJECT, STRING, optional, required};
use super::super::strings::name;
use crate::settings::{
    LogFormat, LogLevel, LogSettings, TelemetryMetrics, TelemetryProtocol, TelemetrySettings,
};
use crate::upstream::UpstreamTls;

pub(super) const LOG: &[Member<LogSettings>] = &[
    optional("level", STRING)
        .default("`\"info\"`")
        .means("`alert`, `error`, `warn`, `notice`, `info` or `debug`: lines below are dropped")
        .read(|cx, field, log| log.level = choose(cx, field, LEVELS).unwrap_or_default()),
    optional("format", STRING)
        .default("`\"text\"`")
        .means(
            "`json`: one object a line with `time`, `level`, `pid`, `thread`, `message`, and `connection` \
             where there is one",
        )
        .read(|cx, field, log| log.format = choose(cx, field, FORMATS).unwrap_or_default()),
];

const LEVELS: &[(&str, LogLevel)] = &[
    ("alert", LogLevel::Alert),
    ("error", LogLevel::Error),
    ("warn", LogLevel::Warn),
    ("notice", LogLevel::Notice),
    ("info", LogLevel::Info),
    ("debug", LogLevel::Debug),
];

const FORMATS: &[(&str, LogFormat)] = &[("text", LogFormat::Text), ("json", LogFormat::Json)];

/// The choice that a text names.
fn choose<T: Copy>(cx: &mut Context<'_>, field: Field<'_>, choices: &[(&str, T)]) -> Option<T> {
    let text = field.value.as_bytes()?;
    let found = choices.iter().find(|(name, _)| name.as_bytes() == &**text);
    if found.is_none() {
        let names: Vec<_> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let (last, others) = names.split_last()?;
        let detail = format!("The \"{}\" must be {} or {last}.", field.name, others.join(", "));
        cx.problem_with_suggestion(detail, &text.to_string_lossy(), choices.iter().map(|(name, _)| *name));
    }
    found.map(|(_, choice)| *choice)
}

/// Reads `telemetry`.
pub(super) fn telemetry(cx: &mut Context<'_>, field: Field<'_>) -> Option<TelemetrySettings> {
    let mut draft = ObserveDraft::default();
    schema::read_object(cx, field.value.as_object()?, &[TELEMETRY], &mut draft);
    let (endpoint, protocol) = (draft.endpoint?, draft.protocol?);
    let metrics = draft.metrics.and_then(|metrics| metrics.settle(cx, &endpoint, protocol));
    Some(TelemetrySettings {
        endpoint,
        protocol,
        metrics,
        tls: draft.tls,
        batch_size: draft.batch_size.unwrap_or(128),
        sampling_ratio: draft.sampling_ratio.unwrap_or(1.0),
        service_name: draft.service_name.unwrap_or_else(|| "Corral".to_owned()),
    })
}

#[derive(Default)]
struct ObserveDraft {
    endpoint: Option<String>,
    protocol: Option<TelemetryProtocol>,
    tls: UpstreamTls,
    batch_size: Option<u32>,
    sampling_ratio: Option<f64>,
    service_name: Option<String>,
    metrics: Option<MetricsDraft>,
}

#[derive(Default)]
struct MetricsDraft {
    endpoint: Option<String>,
    interval: Option<Duration>,
}

/// The paths that OTLP has over HTTP for spans and for metrics.
const TRACES_PATH: &str = "/v1/traces";
const METRICS_PATH: &str = "/v1/metrics";

const SECURE: &str = "https://";

impl MetricsDraft {
    /// The same with its defaults. Over HTTP, the URL for spans says that for metrics if it ends as usual.
    fn settle(
        self,
        cx: &mut Context<'_>,
        spans: &str,
        protocol: TelemetryProtocol,
    ) -> Option<TelemetryMetrics> {
        let usual = match protocol {
            TelemetryProtocol::Grpc => Some(spans.to_owned()),
            TelemetryProtocol::Http => {
                spans.strip_suffix(TRACES_PATH).map(|base| format!("{base}{METRICS_PATH}"))
            }
        };
        let Some(endpoint) = self.endpoint.or(usual) else {
            cx.problem(format!(
                "The \"metrics\" object needs an \"endpoint\", because that of the spans does not end with \
                 \"{TRACES_PATH}\"."
            ));
            return None;
        };
        // Both are spoken to in the same way.
        if endpoint.starts_with(SECURE) != spans.starts_with(SECURE) {
            cx.problem("Both values of \"endpoint\" must begin with \"http://\", or both with \"https://\".");
            return None;
        }
        Some(TelemetryMetrics { endpoint, interval: self.interval.unwrap_or(USUAL_INTERVAL) })
    }
}

/// As exporters of OpenTelemetry have it.
const USUAL_INTERVAL: Duration = Duration::from_secs(60);

const TELEMETRY: &[Member<ObserveDraft>] = &[
    required("endpoint", STRING)
        .means("URL of the collector; over HTTP with the full path, `http://127.0.0.1:4318/v1/traces`")
        .read(|cx, field, draft| draft.endpoint = endpoint(cx, field)),
    required("protocol", STRING)
        .means("`http` (protobuf) or `grpc`")
        .read(|cx, field, draft| draft.protocol = protocol(cx, field)),
    optional("tls", OBJECT)
        .default("as for [proxied servers](proxy.md#options)")
        .means("`verify`, `ca` and `server_name`: how a collector at `https://` proves its name")
        .read(|cx, field, draft| schema::read_nested(cx, field, &[TLS], &mut draft.tls)),
    optional("batch_size", INTEGER)
        .default("128")
        .means("spans that are sent together, 1 to 65536")
        .read(|cx, field, draft| draft.batch_size = batch_size(cx, field)),
    optional("sampling_ratio", NUMBER)
        .default("1")
        .means("share of the traces that begin here, 0 to 1; a client's `traceparent` decides for its own")
        .read(|cx, field, draft| draft.sampling_ratio = ratio(cx, field)),
    optional("service_name", STRING)
        .default("`\"Corral\"`")
        .means("the name that the spans carry")
        .read(|cx, field, draft| draft.service_name = name(cx, field)),
    optional("metrics", OBJECT)
        .default("none")
        .means("[the server's figures](#figures-for-collectors), too; `{}` has the defaults")
        .read(|cx, field, draft| {
            schema::read_nested(cx, field, &[METRICS], draft.metrics.get_or_insert_default());
        }),
];

const METRICS: &[Member<MetricsDraft>] = &[
    optional("interval", INTEGER)
        .default("60")
        .means("seconds from one sending to the next, 1 to 3600")
        .read(|cx, field, draft| draft.interval = seconds(cx, field, 1..=3600)),
    optional("endpoint", STRING)
        .default("that of the spans, over HTTP with `/v1/metrics` in place of `/v1/traces`")
        .means("URL for the figures, which may be another collector's")
        .read(|cx, field, draft| draft.endpoint = endpoint(cx, field)),
];

/// A URL with scheme and host; the rest is for the HTTP client.
fn endpoint(cx: &mut Context<'_>, field: Field<'_>) -> Option<String> {
    let url = name(cx, field)?;
    let rest = ["http://", "https://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let is_clean = url.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_clean || authority.is_empty() || authority.starts_with(':') {
        cx.problem("The \"endpoint\" must be a URL that begins with \"http://\" or \"https://\".");
        return None;
    }
    Some(url)
}

fn protocol(cx: &mut Context<'_>, field: Field<'_>) -> Option<TelemetryProtocol> {
    match &**field.value.as_bytes()? {
        b"http" | b"HTTP" => Some(TelemetryProtocol::Http),
        b"grpc" | b"GRPC" => Some(TelemetryProtocol::Grpc),
        _ => {
            cx.problem("The \"protocol\" must be \"http\" or \"grpc\".");
            None
        }
    }
}

fn batch_size(cx: &mut Context<'_>, field: Field<'_>) -> Option<u32> {
    let number = field.value.as_number()?.as_i64();
    match u32::try_from(number) {
        Ok(size @ 1..=65536) => return Some(size),
        Ok(65537..) => cx.problem("The \"batch_size\" must not exceed 65536."),
        _ if number > 0 => cx.problem("The \"batch_size\" must not exceed 65536."),
        _ => cx.problem("The \"batch_size\" must be greater than 0."),
    }
    None
}

fn ratio(cx: &mut Context<'_>, field: Field<'_>) -> Option<f64> {
    let number = field.value.as_number()?.as_f64();
    if !(0.0..=1.0).contains(&number) {
        cx.problem("The \"sampling_ratio\" must be between 0 and 1.");
        return None;
    }
    Some(number)
}
