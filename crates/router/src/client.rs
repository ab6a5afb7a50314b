//! Clients and their connections: accepted, let in, and waited for.

pub(crate) mod accept;
mod address;
pub(crate) mod connection;
mod http1;
mod http2;
pub(crate) mod inner;
mod linger;
pub(crate) mod prelude;
mod serve;
pub(crate) mod slot;
pub(crate) mod work;

pub(crate) use http2::fuzz_head as fuzz_http2_head;
