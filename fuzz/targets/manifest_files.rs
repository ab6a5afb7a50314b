//! Configuration files, read and merged.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_manifest::fuzz::fuzz_files(data));
