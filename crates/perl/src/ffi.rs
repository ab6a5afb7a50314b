//! `shim/corral_perl.h` in Rust, line by line. Ownership and meaning are documented there.

use std::ffi::{c_char, c_int, c_void};

/// `corral_slice_t`
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Slice {
    pub(crate) data: *const c_char,
    pub(crate) len: usize,
}

impl From<&[u8]> for Slice {
    fn from(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), len: bytes.len() }
    }
}

/// `corral_field_t`
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Field {
    pub(crate) name: Slice,
    pub(crate) value: Slice,
}

/// `corral_host_t`
#[repr(C)]
pub(crate) struct Host {
    pub(crate) head: unsafe extern "C" fn(*mut c_void, u16, *const Field, usize),
    pub(crate) write: unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> c_int,
    pub(crate) flush: unsafe extern "C" fn(*mut c_void),
    pub(crate) read: unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> usize,
    pub(crate) finish: unsafe extern "C" fn(*mut c_void),
    pub(crate) abort: unsafe extern "C" fn(*mut c_void),
}

/// `corral_request_t`
#[repr(C)]
pub(crate) struct Request {
    pub(crate) call: *mut c_void,
    pub(crate) variables: *const Field,
    pub(crate) n_variables: usize,
    pub(crate) content_length: u64,
    pub(crate) https: c_int,
}

/// `corral_outcome_t`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
#[expect(dead_code, reason = "the shim makes the values")]
pub(crate) enum Outcome {
    Served = 0,
    Leaves = 1,
}

const _: () = assert!(size_of::<Field>() == 32);
const _: () = assert!(size_of::<Request>() == 40);

unsafe extern "C" {
    pub(crate) fn corral_perl_version() -> *const c_char;
    pub(crate) fn corral_perl_start(
        host: *const Host,
        handler: *const c_char,
        script: *const c_char,
    ) -> *const c_char;
    pub(crate) fn corral_perl_stop();
    pub(crate) fn corral_perl_forked();
    pub(crate) fn corral_perl_serve(request: *const Request) -> Outcome;
}
