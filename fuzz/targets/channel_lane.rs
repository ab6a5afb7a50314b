//! A lane whose memory a hostile worker writes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_channel::fuzz::fuzz_lane(data));
