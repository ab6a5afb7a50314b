//! First messages of clients that speak TLS.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_router::fuzz::fuzz_hello(data));
