//! A datagram with descriptors that main takes from another process.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_ipc::fuzz::fuzz_take(data));
