//! What fuzzing calls: each function takes any bytes and panics when an invariant does not hold.

use crate::client;

/// Heads of HTTP/2 in the form of HTTP/1: the same method, target and fields, and nothing more.
pub fn fuzz_http2_head(data: &[u8]) {
    client::fuzz_http2_head(data);
}
