//! Heads of HTTP/2.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_router::fuzz::fuzz_http2_head(data));
