//! FastCGI 1.0 as its client speaks it: one request at a time on a connection, never several.

mod decode;
mod encode;

pub use self::decode::{DecodeEvent, Decoder, RecordError, RequestEndStatus};
pub use self::encode::{MAX_PARAMS, Stdin, append_begin, append_pair, append_params, set_request_id};

/// The only version there is.
const VERSION: u8 = 1;

/// Bytes in front of a record's content.
const HEADER: usize = 8;

/// The number of the first request on a connection, which all records have until they get another one.
const FIRST: u16 = 1;

/// The number of the n-th request on a connection. There is one at a time, but a late record of one must not count for
/// another.
#[must_use]
pub fn request_id(nth: u32) -> u16 {
    // Below 2^16, as the remainder is below 2^16 - 1.
    (nth.saturating_sub(1) % u32::from(u16::MAX)) as u16 + FIRST
}

/// The types of records.
mod kind {
    pub(super) const BEGIN_REQUEST: u8 = 1;
    pub(super) const END_REQUEST: u8 = 3;
    pub(super) const PARAMS: u8 = 4;
    pub(super) const STDIN: u8 = 5;
    pub(super) const STDOUT: u8 = 6;
    pub(super) const STDERR: u8 = 7;
}
