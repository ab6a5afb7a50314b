//! `shim/corral_sapi.h` in Rust, line by line. Ownership and meaning are documented there.

use std::ffi::{c_char, c_int, c_void};
use std::marker::{PhantomData, PhantomPinned};

use corral_embed::{Field, Host, Slice};

/// The target of a `corral_string_h`.
#[repr(C)]
pub(crate) struct OpaqueString {
    _data: [u8; 0],
    /// Neither `Send` nor `Sync`: reference counts of PHP are plain numbers.
    _marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// `corral_outcome_t`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
#[expect(dead_code, reason = "the shim makes the values")]
pub(crate) enum Outcome {
    Served = 0,
    NotStarted = 1,
    Forbidden = 2,
    ServedLast = 3,
}

/// `corral_guard_t`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) enum Guard {
    Off = 0,
    Report = 1,
    Restore = 2,
    Recycle = 3,
}

/// `corral_options_t`
#[repr(C)]
pub(crate) struct Options {
    pub(crate) host: *const Host,
    pub(crate) trace: unsafe extern "C" fn(*mut c_void, *const c_char, usize),
    pub(crate) ini_path: *const c_char,
    pub(crate) ini_entries: *const c_char,
    pub(crate) sapi_name: *const c_char,
    pub(crate) software: Slice,
    pub(crate) compatible_names: c_int,
    pub(crate) guard: Guard,
}

/// `corral_answer_t`
pub(crate) type Answer = unsafe extern "C" fn(*mut c_void, *const Request) -> Outcome;

/// `corral_worker_t`
#[repr(C)]
pub(crate) struct Worker {
    pub(crate) host: *mut c_void,
    pub(crate) next: unsafe extern "C" fn(*mut c_void, Answer, *mut c_void) -> c_int,
    pub(crate) failed: unsafe extern "C" fn(*mut c_void, *const c_char, usize),
    pub(crate) script: *mut OpaqueString,
    pub(crate) document_root: *mut OpaqueString,
    pub(crate) directory: *const c_char,
    pub(crate) script_name: Slice,
    pub(crate) variables: *const Field,
    pub(crate) n_variables: usize,
}

/// `corral_setting_mode_t`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) enum SettingMode {
    System = 0,
    User = 1,
}

/// `corral_setting_t`
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Setting {
    pub(crate) name: *mut OpaqueString,
    pub(crate) value: *mut OpaqueString,
    pub(crate) mode: SettingMode,
}

/// `corral_setting_check_t`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
#[expect(dead_code, reason = "the shim makes the values")]
pub(crate) enum SettingCheck {
    Fits = 0,
    Unknown = 1,
    Admin = 2,
    Refused = 3,
}

/// `corral_request_t`
#[repr(C)]
pub(crate) struct Request {
    pub(crate) call: *mut c_void,
    pub(crate) method: *const c_char,
    pub(crate) request_uri: *const c_char,
    pub(crate) path: *const c_char,
    pub(crate) query: *const c_char,
    pub(crate) content_type: *const c_char,
    pub(crate) cookie: *const c_char,
    pub(crate) authorization: *const c_char,
    pub(crate) content_length: i64,
    pub(crate) script: *mut OpaqueString,
    pub(crate) document_root: *mut OpaqueString,
    pub(crate) directory: *const c_char,
    pub(crate) php_self: Slice,
    pub(crate) script_name: Slice,
    pub(crate) path_info: Slice,
    pub(crate) path_translated: Slice,
    pub(crate) protocol: Slice,
    pub(crate) remote_addr: Slice,
    pub(crate) remote_port: Slice,
    pub(crate) remote_user: Slice,
    pub(crate) auth_type: Slice,
    pub(crate) server_addr: Slice,
    pub(crate) server_name: Slice,
    pub(crate) server_port: Slice,
    pub(crate) content_length_text: Slice,
    pub(crate) https: c_int,
    pub(crate) fields: *const Field,
    pub(crate) n_fields: usize,
    pub(crate) params: *const Field,
    pub(crate) n_params: usize,
    pub(crate) settings: *const Setting,
    pub(crate) n_settings: usize,
}

// The C side asserts the same numbers (corral_sapi.c), so that the two cannot drift apart.
const _: () = assert!(size_of::<Field>() == 32);
const _: () = assert!(size_of::<Options>() == 64);
const _: () = assert!(size_of::<Setting>() == 24);
const _: () = assert!(size_of::<Request>() == 360);
const _: () = assert!(std::mem::offset_of!(Request, php_self) == 96);
const _: () = assert!(std::mem::offset_of!(Request, fields) == 312);
const _: () = assert!(size_of::<Worker>() == 80);

unsafe extern "C" {
    pub(crate) fn corral_php_version() -> *const c_char;
    pub(crate) fn corral_php_folder(idx: usize) -> *const c_char;
    pub(crate) fn corral_php_library() -> *const c_char;
    pub(crate) fn corral_module_start(options: *const Options) -> c_int;
    pub(crate) fn corral_module_stop();
    pub(crate) fn corral_module_forked();
    pub(crate) fn corral_trace_prepare();
    pub(crate) fn corral_trace_ask();
    pub(crate) fn corral_trace_be_quiet();
    pub(crate) fn corral_setting_apply(name: Slice, value: Slice, mode: SettingMode) -> c_int;
    pub(crate) fn corral_setting_apply_late(name: Slice, value: Slice, mode: SettingMode) -> c_int;
    pub(crate) fn corral_setting_value(name: Slice) -> Slice;
    pub(crate) fn corral_ini_files(idx: usize) -> *const c_char;
    pub(crate) fn corral_setting_check(name: Slice, value: Slice, mode: SettingMode) -> SettingCheck;
    pub(crate) fn corral_opcache_active() -> c_int;
    pub(crate) fn corral_paths_forget();
    pub(crate) fn corral_string_new(text: Slice) -> *mut OpaqueString;
    pub(crate) fn corral_string_free(string: *mut OpaqueString);
    pub(crate) fn corral_worker_left_state() -> u32;
    pub(crate) fn corral_worker_run(worker: *const Worker) -> c_int;
    pub(crate) fn corral_request_run(request: *const Request) -> Outcome;
}
