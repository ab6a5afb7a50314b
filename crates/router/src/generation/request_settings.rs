//! The meaning of `settings.http` for the request path, worked out once for each configuration.

use std::path::PathBuf;
use std::time::Duration;

use corral_config::bounds::RequestBounds;
use corral_config::settings::{Http2Settings, HttpSettings, RequestIdSettings, WebSocketSettings};
use corral_http::mime::MimeTypes;
use corral_http::request::HeadRules;

use crate::reply::compression::Compressors;

/// Settings in the form in which requests need them.
pub(crate) struct RequestSettings {
    pub(crate) head: HeadRules,
    pub(crate) mime_types: MimeTypes,
    /// How long an open file is served without a look at the file system.
    pub(crate) file_trust: Duration,
    pub(crate) compression: Option<Compressors>,
    /// The value of the Server field.
    pub(crate) server: &'static str,
    /// A template tells of the servers that requests are passed to.
    pub(crate) wants_upstreams: bool,
    /// Log the steps that a request takes.
    pub(crate) log_route: bool,
    /// Error pages are JSON for clients that prefer it.
    pub(crate) negotiate_errors: bool,
    /// The header that requests are known by.
    pub(crate) request_id: Option<Box<RequestIdSettings>>,
    pub(crate) header_read_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    /// The bounds of requests whose actions have no others.
    pub(crate) bounds: RequestBounds,
    /// Folder for larger bodies, if not the daemon's.
    pub(crate) body_temp_path: Option<PathBuf>,
    pub(crate) websocket: WebSocketSettings,
    pub(crate) http2: Http2Settings,
    /// For the heads of its streams.
    pub(crate) stream_head: HeadRules,
}

impl RequestSettings {
    pub(crate) fn new(http: &HttpSettings, wants_upstreams: bool) -> Self {
        let mut mime_types = MimeTypes::default();
        for (mime_type, extensions) in &http.mime_types {
            for extension in extensions {
                mime_types.insert(extension, mime_type);
            }
        }
        let head = HeadRules {
            discard_unsafe_fields: http.discard_unsafe_fields,
            chunked_permitted: http.chunked_transform,
            ..HeadRules::from_buffers(http.large_header_buffer_size, http.large_header_buffers)
        };
        // A body whose length is not announced needs no chunks there, and is written down as if it came in some.
        let stream_head = HeadRules { is_stream: true, chunked_permitted: true, ..head };
        Self {
            head,
            mime_types,
            file_trust: http.file_trust,
            compression: http.compression.as_ref().map(Compressors::new),
            server: if http.server_version { SERVER_WITH_VERSION } else { SERVER },
            wants_upstreams,
            log_route: http.log_route,
            negotiate_errors: http.negotiate_errors,
            request_id: http.request_id.clone().map(Box::new),
            header_read_timeout: http.header_read_timeout,
            idle_timeout: http.idle_timeout,
            bounds: http.bounds,
            body_temp_path: http.body_temp_path.clone(),
            websocket: http.websocket.clone(),
            http2: http.http2,
            stream_head,
        }
    }
}

const SERVER: &str = "Corral";
const SERVER_WITH_VERSION: &str = concat!("Corral/", env!("CARGO_PKG_VERSION"));
