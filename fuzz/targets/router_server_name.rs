//! First messages of clients whose connections are passed on by the name that they ask for.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corral_router::fuzz::fuzz_server_name(data));
