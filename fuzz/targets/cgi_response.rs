//! Heads of responses of CGI programs.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_cgi::fuzz::fuzz_response(data));
