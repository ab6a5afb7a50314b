//! Paths of requests, and the changes that are made there.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_config::fuzz::fuzz_edit(data));
