//! `settings` (UNIT-COMPAT 15) with every default filled in.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of the whole server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// How HTTP is spoken with clients.
    pub http: HttpSettings,
    /// Event loops of the router; `None` means one for each processor.
    pub listen_threads: Option<NonZeroU32>,
}

/// `settings.http`: one set for all listeners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// From a request's first byte to the end of its head.
    pub header_read_timeout: Duration,
    /// Between two reads of a request's body.
    pub body_read_timeout: Duration,
    /// Between two successful writes.
    pub send_timeout: Duration,
    /// How long a connection may wait for a request.
    pub idle_timeout: Duration,
    /// Bytes of one further buffer for a request's head; the first one has 2048.
    pub large_header_buffer_size: usize,
    /// How many such buffers there may be.
    pub large_header_buffers: usize,
    /// Request bodies up to this many bytes stay in memory.
    pub body_buffer_size: usize,
    /// Longest request body, in bytes.
    pub max_body_size: u64,
    /// Folder for the bodies that do not fit in memory; `None` means the daemon's.
    pub body_temp_path: Option<PathBuf>,
    /// Drop request fields whose names contain anything but letters, digits and `-`.
    pub discard_unsafe_fields: bool,
    /// Log the steps that a request takes.
    pub log_route: bool,
    /// Name the version in the Server field.
    pub server_version: bool,
    /// Accept request bodies in chunks.
    pub chunked_transform: bool,
    /// MIME types with their file extensions, to be put over the built-in table. An extension
    /// starts with its dot; one without a dot is a whole file name.
    pub mime_types: Vec<(String, Vec<String>)>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            header_read_timeout: Duration::from_secs(30),
            body_read_timeout: Duration::from_secs(30),
            send_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(180),
            large_header_buffer_size: 8192,
            large_header_buffers: 4,
            body_buffer_size: 16384,
            max_body_size: 8 * 1024 * 1024,
            body_temp_path: None,
            discard_unsafe_fields: true,
            log_route: false,
            server_version: true,
            chunked_transform: false,
            mime_types: Vec::new(),
        }
    }
}
