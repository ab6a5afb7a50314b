//! The payload of Request and Response frames: a head, and the first bytes of the body behind it.
//!
//! Numbers are little-endian; strings are a u32 of length each, the lengths together in front of the
//! strings. Encoding appends to a buffer, decoding borrows from one; neither allocates for each field.

mod fields;
mod file;
pub mod params;
mod reader;
mod request;
mod response;
#[cfg(test)]
mod tests;
mod trailers;

pub use fields::HeadFields;
pub use file::{FilePart, split_file};
pub use request::{RequestHead, RequestView, Version, decode_request, encode_request};
pub use response::{
    ResponseView, decode_informational, decode_response, encode_informational, encode_refusal,
    encode_response,
};
pub use trailers::{check_trailers, decode_trailers, encode_trailers};

/// A payload that is not a head, or a head that must not be passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The payload ends early, or a part leaves it.
    #[error("the head ends before its parts do")]
    Truncated,
    /// The version is none that HTTP has.
    #[error("the version is number {number}")]
    Version {
        /// As received.
        number: u8,
    },
    /// Not 100 to 999, or of an informational response not 102 to 199.
    #[error("the status is {status}")]
    Status {
        /// As received.
        status: u16,
    },
    /// Empty, or with a character that RFC 9110 section 5.6.2 does not allow in a token.
    #[error("the name of header {index} is not a token")]
    FieldName {
        /// Counted from zero.
        index: usize,
    },
    /// With CR, LF or NUL (RFC 9110 section 5.5).
    #[error("the value of header {index} has CR, LF or NUL")]
    FieldValue {
        /// Counted from zero.
        index: usize,
    },
    /// An empty one, or one that no file can have.
    #[error("no file has a part of {len} bytes from {offset} on")]
    FilePart {
        /// As received.
        offset: u64,
        /// As received.
        len: u64,
    },
    /// RFC 9110 section 6.5.1.
    #[error("header {index} must not be behind a body")]
    Trailer {
        /// Counted from zero.
        index: usize,
    },
}
