//! `shim/corral_perl.h` in Rust, line by line. Ownership and meaning are documented there.

use std::ffi::{c_char, c_int};

use corral_embed::{Host, Outcome, Request};

/// `corral_perl_t`
#[repr(C)]
pub(crate) struct Perl {
    _private: [u8; 0],
}

unsafe extern "C" {
    pub(crate) fn corral_perl_version() -> *const c_char;
    pub(crate) fn corral_perl_has_threads() -> c_int;
    pub(crate) fn corral_perl_initialize(host: *const Host);
    pub(crate) fn corral_perl_terminate();
    pub(crate) fn corral_perl_new() -> *mut Perl;
    pub(crate) fn corral_perl_start(
        perl: *mut Perl,
        handler: *const c_char,
        multithread: c_int,
    ) -> *const c_char;
    pub(crate) fn corral_perl_load(perl: *mut Perl, script: *const c_char) -> *const c_char;
    pub(crate) fn corral_perl_free(perl: *mut Perl);
    pub(crate) fn corral_perl_forked(perl: *mut Perl);
    pub(crate) fn corral_perl_serve(perl: *mut Perl, request: *const Request) -> Outcome;
}
