//! Tokens, for keys that are known.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_auth::fuzz::fuzz_token(data));
