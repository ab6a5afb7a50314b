//! Origins of other sites.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_config::fuzz::fuzz_origin(data));
