//! FastCGI 1.0 as its client speaks it: one request at a time on a connection, never several.

mod decode;
mod encode;

pub use self::decode::{Decoder, End, Event, RecordError};
pub use self::encode::{Stdin, append_begin, append_pair, append_params};

/// The only version there is.
const VERSION: u8 = 1;

/// Bytes in front of a record's content.
const HEADER: usize = 8;

/// The number of every request: there is one at a time.
const REQUEST: u16 = 1;

/// The types of records.
mod kind {
    pub(super) const BEGIN_REQUEST: u8 = 1;
    pub(super) const END_REQUEST: u8 = 3;
    pub(super) const PARAMS: u8 = 4;
    pub(super) const STDIN: u8 = 5;
    pub(super) const STDOUT: u8 = 6;
    pub(super) const STDERR: u8 = 7;
}
