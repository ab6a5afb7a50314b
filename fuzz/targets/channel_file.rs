//! A part of a file as the router reads it.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_channel::fuzz::fuzz_split_file(data));
