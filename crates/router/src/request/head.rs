//! The head of a request while it is answered.

use std::time::Instant;

use corral_channel::message::Version as WorkerVersion;
use corral_http::request::{HttpVersion, ParsedHead};

/// The request's head.
#[derive(Clone, Copy)]
pub(crate) struct ReceivedRequest<'c> {
    pub(crate) head: &'c ParsedHead,
    pub(crate) bytes: &'c [u8],
    pub(crate) started: Instant,
}

impl<'c> ReceivedRequest<'c> {
    pub(crate) fn method(self) -> &'c [u8] {
        self.head.method(self.bytes)
    }

    /// The version of HTTP, as workers are told.
    pub(crate) fn version(self) -> WorkerVersion {
        match self.head.version() {
            HttpVersion::Http10 => WorkerVersion::Http10,
            HttpVersion::Http11 => WorkerVersion::Http11,
            HttpVersion::Http2 => WorkerVersion::Http2,
        }
    }

    /// RFC 9110 section 9.2.2.
    pub(crate) fn is_idempotent(self) -> bool {
        matches!(self.method(), b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE" | b"PUT" | b"DELETE")
    }
}
