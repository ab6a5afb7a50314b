//! HTTP/1 parsing and serialising, conditionals, ranges and MIME types. Pure: bytes in, values out.
//!
//! Nothing here reads a socket, a file or a clock: the caller owns the buffers and says what time it is.
//! Strict by RFC 9112 wherever leniency has been used for request smuggling; otherwise as lenient as
//! NGINX Unit 1.35 is. Every refusal is a typed error that knows its status.

#![forbid(unsafe_code)]

mod chars;
pub mod chunked;
pub mod conditional;
pub mod cookies;
pub mod encoding;
pub mod fuzz;
pub mod mime;
pub mod path;
pub mod proxy_protocol;
pub mod range;
pub mod request;
pub mod response;
#[cfg(any(test, feature = "test-util"))]
pub mod smuggling;
pub mod upstream;
mod version;
pub mod websocket;

pub use chars::{is_field_value, list, trim};
pub use corral_syntax::is_token;
