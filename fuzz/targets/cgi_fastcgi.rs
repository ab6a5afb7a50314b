//! Records of FastCGI that servers send.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_cgi::fuzz::fuzz_fastcgi(data));
