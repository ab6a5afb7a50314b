//! Paths of request targets, and Location values.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_http::fuzz::fuzz_path(data));
