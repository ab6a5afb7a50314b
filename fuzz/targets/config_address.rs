//! Address patterns of match conditions and trusted peers.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_config::fuzz::fuzz_address(data));
