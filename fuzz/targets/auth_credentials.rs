//! Values of Authorization.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_auth::fuzz::fuzz_credentials(data));
