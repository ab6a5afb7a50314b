//! Sets of keys, from anybody.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_auth::fuzz::fuzz_key_set(data));
