//! `shim/corral_ruby.h` in Rust, line by line. Ownership and meaning are documented there.

use std::ffi::{c_char, c_int, c_void};

use corral_embed::{Host, Outcome, Request};

unsafe extern "C" {
    pub(crate) fn corral_ruby_version() -> *const c_char;
    pub(crate) fn corral_ruby_start(host: *const Host) -> *const c_char;
    pub(crate) fn corral_ruby_eval(name: *const c_char, text: *const c_char) -> *const c_char;
    pub(crate) fn corral_ruby_load(script: *const c_char, hooks: *const c_char) -> *const c_char;
    pub(crate) fn corral_ruby_fork() -> c_int;
    pub(crate) fn corral_ruby_boot(n_threads: u32) -> *const c_char;
    pub(crate) fn corral_ruby_serve(request: *const Request) -> Outcome;
    pub(crate) fn corral_ruby_run(
        live: unsafe extern "C" fn(*mut c_void),
        leave: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    );
    pub(crate) fn corral_ruby_serve_in_thread(request: *const Request) -> Outcome;
    pub(crate) fn corral_ruby_idle(wait: unsafe extern "C" fn(*mut c_void), data: *mut c_void);
    pub(crate) fn corral_ruby_shutdown();
    pub(crate) fn corral_ruby_stop();
}
