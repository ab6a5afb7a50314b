//! Certificates that were ordered.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_router::fuzz::fuzz_provision(data));
