//! `settings` (contract 15) with every default filled in.

mod control;
mod observe;
mod request_id;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

pub use self::control::{DashboardSettings, METRIC_LABELS, MetricsSettings};
pub use self::observe::{
    LogFormat, LogLevel, LogSettings, TelemetryMetrics, TelemetryProtocol, TelemetrySettings,
};
pub use self::request_id::{KeptIds, RequestIdSettings};

use crate::bounds::RequestBounds;
use crate::pattern::PatternSet;

/// Settings of the whole server.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// How HTTP is spoken with clients.
    pub http: HttpSettings,
    /// Bounds on all clients together.
    pub limits: ServerLimits,
    /// Event loops of the router; `None` means one for each processor.
    pub listen_threads: Option<NonZeroU32>,
    /// JavaScript modules that templates can use, each once.
    pub js_module: Vec<String>,
    /// Bounds on scripts.
    pub js_limits: ScriptLimits,
    /// Which lines are logged, and how they look.
    pub log: LogSettings,
    /// Where spans of requests are sent, if anywhere.
    pub telemetry: Option<TelemetrySettings>,
    /// Where metrics are served beside the control API, and which.
    pub metrics: MetricsSettings,
    /// Where the control API and its dashboard are served for other machines, if anywhere.
    pub dashboard: Option<DashboardSettings>,
}

/// `settings.limits`: what all clients together may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// Client connections at a time; `None` means as many as there are descriptors for.
    pub connections: Option<NonZeroU32>,
    /// The bound for one client address; `None` means any number.
    pub connections_per_address: Option<NonZeroU32>,
    /// Bytes of memory for the bodies of requests and responses that wait.
    pub buffered_bytes: u64,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self { connections: None, connections_per_address: None, buffered_bytes: 32 << 20 }
    }
}

/// `settings.js_limits`: what the scripts of one event loop may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Bytes, for all scripts of a configuration together.
    pub memory: usize,
    /// For one evaluation, during which the event loop does nothing else.
    pub timeout: Duration,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        Self { memory: 64 << 20, timeout: Duration::from_millis(200) }
    }
}

/// `settings.http`: one set for all listeners.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// From a request's first byte to the end of its head.
    pub header_read_timeout: Duration,
    /// The bounds of each request, unless actions have their own.
    pub bounds: RequestBounds,
    /// How long a connection may wait for a request.
    pub idle_timeout: Duration,
    /// Bytes of one further buffer for a request's head; the first one has 2048.
    pub large_header_buffer_size: usize,
    /// How many such buffers there may be.
    pub large_header_buffers: usize,
    /// Folder for the bodies that do not fit in memory; `None` means the daemon's.
    pub body_temp_path: Option<PathBuf>,
    /// Drop request fields whose names contain anything but letters, digits and `-`.
    pub discard_unsafe_fields: bool,
    /// Log the steps that a request takes.
    pub log_route: bool,
    /// Error pages are JSON for clients that prefer it.
    pub negotiate_errors: bool,
    /// The header that requests are known by, if there is one.
    pub request_id: Option<RequestIdSettings>,
    /// Name the version in the Server field.
    pub server_version: bool,
    /// Accept request bodies in chunks.
    pub chunked_transform: bool,
    /// MIME types with their file extensions, to be put over the built-in table. An extension
    /// starts with its dot; one without a dot is a whole file name.
    pub mime_types: Vec<(String, Vec<String>)>,
    /// How long an open file is served without a look at the file system.
    pub file_trust: Duration,
    /// How HTTP/2 is spoken.
    pub http2: Http2Settings,
    /// How WebSocket connections are looked after.
    pub websocket: WebSocketSettings,
    /// The rules for compression; `None` when no compressor is configured.
    pub compression: Option<Compression>,
}

/// `settings.http.http2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Http2Settings {
    /// Requests of one connection at a time.
    pub max_concurrent_streams: u32,
    /// Bytes of a body that a client may send ahead, on one stream.
    pub stream_window: u32,
    /// The same for all streams of a connection together.
    pub connection_window: u32,
}

impl Default for Http2Settings {
    fn default() -> Self {
        Self { max_concurrent_streams: 128, stream_window: 128 << 10, connection_window: 256 << 10 }
    }
}

/// `settings.http.websocket`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSocketSettings {
    /// Longest silence of a client before its connection is closed.
    pub read_timeout: Duration,
    /// Silence after which the client is sent a ping; `None` means never.
    pub keepalive_interval: Option<Duration>,
    /// Longest frame that a client may send, in bytes.
    pub max_frame_size: u64,
}

impl Default for WebSocketSettings {
    fn default() -> Self {
        Self {
            read_timeout: Duration::from_secs(60),
            keepalive_interval: Some(Duration::from_secs(30)),
            max_frame_size: 1024 * 1024,
        }
    }
}

/// `settings.http.compression`.
#[derive(Debug, Clone)]
pub struct Compression {
    /// MIME types that are compressed, as Content-Type says them; `None` means all.
    pub types: Option<PatternSet>,
    /// At least one.
    pub compressors: Vec<Compressor>,
}

/// One content coding that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compressor {
    /// Which.
    pub encoding: Encoding,
    /// How much effort is spent.
    pub level: Level,
    /// Bodies with fewer bytes than this stay as they are.
    pub min_length: u64,
}

/// Content codings that can be configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// `gzip`
    Gzip,
    /// `deflate`: the zlib format.
    Deflate,
    /// `zstd`
    Zstd,
    /// `br`
    Brotli,
    /// The body as it is.
    Identity,
}

impl Encoding {
    /// By its name in documents.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, encoding)| *encoding)
    }

    /// All names, with what they mean.
    pub const NAMES: [(&str, Self); 5] = [
        ("gzip", Self::Gzip),
        ("deflate", Self::Deflate),
        ("zstd", Self::Zstd),
        ("br", Self::Brotli),
        ("identity", Self::Identity),
    ];

    /// The least and the greatest level.
    #[must_use]
    pub fn levels(self) -> (i32, i32) {
        match self {
            Self::Gzip | Self::Deflate => (-1, 9),
            Self::Zstd => (-7, 22),
            Self::Brotli => (0, 11),
            Self::Identity => (i32::MIN, i32::MAX),
        }
    }
}

/// How much effort a compressor spends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Not said.
    Default,
    /// Inside the encoding's range.
    Chosen(i32),
    /// Outside of it, so that the default is used and the operator is told.
    OutOfRange(i64),
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            header_read_timeout: Duration::from_secs(30),
            bounds: RequestBounds::default(),
            idle_timeout: Duration::from_secs(180),
            large_header_buffer_size: 8192,
            large_header_buffers: 4,
            body_temp_path: None,
            discard_unsafe_fields: true,
            log_route: false,
            negotiate_errors: false,
            request_id: None,
            server_version: true,
            chunked_transform: true,
            mime_types: Vec::new(),
            file_trust: Duration::ZERO,
            http2: Http2Settings::default(),
            websocket: WebSocketSettings::default(),
            compression: None,
        }
    }
}
