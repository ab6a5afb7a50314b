//! Heads of responses of upstream servers.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_http::fuzz::fuzz_upstream(data));
