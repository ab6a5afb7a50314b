//! Frames of WebSocket clients and applications.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_http::fuzz::fuzz_websocket(data));
