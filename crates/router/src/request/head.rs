//! The head of a request while it is answered.

use std::time::Instant;

use corral_http::request::Head;

/// The request's head.
#[derive(Clone, Copy)]
pub(crate) struct Request<'c> {
    pub(crate) head: &'c Head,
    pub(crate) bytes: &'c [u8],
    pub(crate) started: Instant,
}

impl<'c> Request<'c> {
    pub(crate) fn method(self) -> &'c [u8] {
        self.head.method(self.bytes)
    }

    /// RFC 9110 section 9.2.2.
    pub(crate) fn is_idempotent(self) -> bool {
        matches!(self.method(), b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE" | b"PUT" | b"DELETE")
    }
}
