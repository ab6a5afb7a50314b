//! `settings.log` and `settings.telemetry`: what the server tells about itself and about requests.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::upstream::UpstreamTls;

/// `settings.log`: which lines are logged, and how they look. All processes obey it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSettings {
    /// Lines below it are dropped.
    pub level: LogLevel,
    /// How lines look.
    pub format: LogFormat,
}

/// Importance of a line, most important first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LogLevel {
    /// The server cannot go on, or a request hit something that should not be.
    Alert,
    /// Something failed.
    Error,
    /// Something is odd, and was dealt with.
    Warn,
    /// Something an operator wants to find later.
    Notice,
    /// Normal events.
    #[default]
    Info,
    /// Internal events.
    Debug,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogFormat {
    /// Unit's (contract 2.3).
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// `settings.telemetry` (contract 17): where spans of requests are sent.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetrySettings {
    /// URL of the collector; over HTTP with the full path.
    pub endpoint: String,
    /// How the collector is spoken to.
    pub protocol: TelemetryProtocol,
    /// How a collector at `https://` is spoken to.
    pub tls: UpstreamTls,
    /// Spans that are sent together.
    pub batch_size: u32,
    /// Share of the traces that begin here and are sent, from 0 to 1.
    pub sampling_ratio: f64,
    /// `service.name` of the resource.
    pub service_name: String,
    /// The server's figures, if they are sent as well.
    pub metrics: Option<TelemetryMetrics>,
}

/// `settings.telemetry.metrics`: the figures of the whole server for the same collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryMetrics {
    /// URL for these; over HTTP with the full path.
    pub endpoint: String,
    /// From one sending to the next.
    pub interval: Duration,
}

/// OTLP's transports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TelemetryProtocol {
    /// Protobuf over HTTP.
    Http,
    /// gRPC.
    Grpc,
}
