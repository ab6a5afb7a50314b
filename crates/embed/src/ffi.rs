//! `include/corral_exchange.h` and `include/corral_embed.h` in Rust, line by line. Ownership and meaning are documented
//! there.

use std::ffi::{c_char, c_int, c_void};

/// `corral_slice_t`
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Slice {
    /// As in the header.
    pub data: *const c_char,
    /// As in the header.
    pub len: usize,
}

impl Slice {
    /// No bytes.
    pub const EMPTY: Self = Self { data: std::ptr::null(), len: 0 };
}

impl From<&[u8]> for Slice {
    fn from(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr().cast(), len: bytes.len() }
    }
}

/// `corral_field_t`
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Field {
    /// As in the header.
    pub name: Slice,
    /// As in the header.
    pub value: Slice,
}

/// `corral_host_t`
#[repr(C)]
pub struct Host {
    /// As in the header.
    pub inform: unsafe extern "C" fn(*mut c_void, u16, *const Field, usize) -> c_int,
    /// As in the header.
    pub head: unsafe extern "C" fn(*mut c_void, u16, *const Field, usize),
    /// As in the header.
    pub collects: unsafe extern "C" fn(*mut c_void, usize) -> c_int,
    /// As in the header.
    pub write: unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> c_int,
    /// As in the header.
    pub file: unsafe extern "C" fn(*mut c_void, c_int, u64) -> c_int,
    /// As in the header.
    pub flush: unsafe extern "C" fn(*mut c_void),
    /// As in the header.
    pub read: unsafe extern "C" fn(*mut c_void, *mut c_char, usize) -> usize,
    /// As in the header.
    pub finish: unsafe extern "C" fn(*mut c_void),
    /// As in the header.
    pub abort: unsafe extern "C" fn(*mut c_void),
    /// As in the header.
    pub gone: unsafe extern "C" fn(*mut c_void) -> c_int,
    /// As in the header.
    pub hijack: unsafe extern "C" fn(*mut c_void) -> c_int,
    /// As in the header.
    pub remark: unsafe extern "C" fn(*const c_char, usize),
    /// As in the header.
    pub stranger: extern "C" fn() -> c_int,
}

/// `corral_request_t`
#[repr(C)]
pub struct Request {
    /// As in the header.
    pub call: *mut c_void,
    /// As in the header.
    pub variables: *const Field,
    /// As in the header.
    pub n_variables: usize,
    /// As in the header.
    pub content_length: u64,
    /// As in the header.
    pub https: c_int,
}

/// `corral_outcome_t`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum Outcome {
    /// The worker takes the next request.
    Served = 0,
    /// The worker leaves and is replaced.
    Leaves = 1,
}

// The C compiler computes the same (System V ABI); these tell when the two drift apart.
const _: () = assert!(size_of::<Field>() == 32);
const _: () = assert!(size_of::<Host>() == 104);
const _: () = assert!(size_of::<Request>() == 40);
