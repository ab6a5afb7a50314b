//! Entries of the fuzz targets: each function takes any bytes and panics when an invariant does not hold.

use crate::{client, layer4, tls};

/// Heads of HTTP/2 in the form of HTTP/1: the same method, target and fields, and nothing more.
pub fn fuzz_http2_head(data: &[u8]) {
    client::fuzz_http2_head(data);
}

/// The first bytes of a client that speaks TLS, where names are validated by handshakes.
pub fn fuzz_hello(data: &[u8]) {
    tls::fuzz_hello(data);
}

/// The first bytes of a client whose connection is passed on by the name that it asks for.
pub fn fuzz_server_name(data: &[u8]) {
    layer4::fuzz_server_name(data);
}

/// Certificates that were ordered, and answers to authorities.
pub fn fuzz_provision(data: &[u8]) {
    tls::fuzz_provision(data);
}
