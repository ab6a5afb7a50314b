//! Answers of DNS servers.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_acme::dns::fuzz_answer(data));
