//! Caddyfiles, as Laravel Octane brings them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_manifest::fuzz::fuzz_caddyfile(data));
