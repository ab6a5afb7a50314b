//! Headers of the PROXY protocol.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_http::fuzz::fuzz_proxy_protocol(data));
