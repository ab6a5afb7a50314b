//! Trailers as the router reads them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_channel::fuzz::fuzz_decode_trailers(data));
