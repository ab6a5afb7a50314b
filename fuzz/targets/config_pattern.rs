//! Patterns of match conditions.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_config::fuzz::fuzz_pattern(data));
