//! Paths that name scripts.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_cgi::fuzz::fuzz_script(data));
