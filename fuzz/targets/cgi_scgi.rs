//! The heads of requests of SCGI.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_cgi::fuzz::fuzz_scgi(data));
