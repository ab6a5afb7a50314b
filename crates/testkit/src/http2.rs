//! HTTP/2 for tests: a client that keeps to the protocol, one that writes frames by hand, and a bridge that carries
//! what tests say in HTTP/1.

mod body;
mod bridge;
mod client;
mod connection;
mod frame;
mod head;
mod origin;
mod raw;
mod stream;

pub(crate) use self::bridge::{Far, carry};
pub use self::client::Http2;
pub use self::frame::{Frame, flag, kind, remembered};
pub use self::origin::{Asked, Http2Origin, fields as http2_fields};
pub use self::raw::RawHttp2;
pub use self::stream::Http2Stream;
