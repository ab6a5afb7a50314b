//! Bounds of one request, in time and memory: by `settings.http`, and by each action that says something else.

use std::time::Duration;

/// The bounds of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestBounds {
    /// Longest request body, in bytes.
    pub max_body_size: u64,
    /// Request bodies up to this many bytes stay in memory.
    pub body_buffer_size: usize,
    /// Between two reads of a request's body.
    pub body_read_timeout: Duration,
    /// Between two successful writes.
    pub send_timeout: Duration,
    /// All of a body is received before an application or another server gets the request.
    pub request_buffering: bool,
}

/// One of the bounds, as an action has it in the place of the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestBound {
    /// See [`RequestBounds::max_body_size`].
    MaxBodySize(u64),
    /// See [`RequestBounds::body_buffer_size`].
    BodyBufferSize(usize),
    /// See [`RequestBounds::body_read_timeout`].
    BodyReadTimeout(Duration),
    /// See [`RequestBounds::send_timeout`].
    SendTimeout(Duration),
    /// See [`RequestBounds::request_buffering`].
    RequestBuffering(bool),
}

impl RequestBounds {
    /// Puts one in the place of the one that there is.
    pub fn set(&mut self, bound: RequestBound) {
        match bound {
            RequestBound::MaxBodySize(size) => self.max_body_size = size,
            RequestBound::BodyBufferSize(size) => self.body_buffer_size = size,
            RequestBound::BodyReadTimeout(timeout) => self.body_read_timeout = timeout,
            RequestBound::SendTimeout(timeout) => self.send_timeout = timeout,
            RequestBound::RequestBuffering(is_on) => self.request_buffering = is_on,
        }
    }
}

impl Default for RequestBounds {
    fn default() -> Self {
        Self {
            max_body_size: 8 * 1024 * 1024,
            body_buffer_size: 65536,
            body_read_timeout: Duration::from_secs(30),
            send_timeout: Duration::from_secs(30),
            request_buffering: false,
        }
    }
}
