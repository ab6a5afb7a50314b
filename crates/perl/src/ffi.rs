//! `shim/corral_perl.h` in Rust, line by line. Ownership and meaning are documented there.

use std::ffi::c_char;

use corral_embed::{Host, Outcome, Request};

unsafe extern "C" {
    pub(crate) fn corral_perl_version() -> *const c_char;
    pub(crate) fn corral_perl_start(host: *const Host, handler: *const c_char) -> *const c_char;
    pub(crate) fn corral_perl_load(script: *const c_char) -> *const c_char;
    pub(crate) fn corral_perl_stop();
    pub(crate) fn corral_perl_forked();
    pub(crate) fn corral_perl_serve(request: *const Request) -> Outcome;
}
