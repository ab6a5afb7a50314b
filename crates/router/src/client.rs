//! Clients and their connections: accepted, let in, and waited for.

pub(crate) mod accept;
mod address;
pub(crate) mod connection;
pub(crate) mod datagrams;
mod handshake;
mod http1;
mod http2;
pub(crate) mod internal;
mod layer4;
mod linger;
pub(crate) mod listener_handle;
pub(crate) mod prelude;
pub(crate) mod request_state;
mod serve;

pub(crate) use http2::fuzz_head as fuzz_http2_head;
