//! Callbacks of PHP alone, beside those of all interpreters (`corral_embed::HOST`).

use std::ffi::{c_char, c_void};

use corral_embed::{bytes, call_of};

use crate::slow;

/// Takes a backtrace.
///
/// # Safety
/// `call` is that of the running request, and `text` leads to `len` readable bytes.
pub(crate) unsafe extern "C" fn trace(call: *mut c_void, text: *const c_char, len: usize) {
    // SAFETY: called by the shim with the running request's pointer.
    let call = unsafe { call_of(call) };
    // SAFETY: the shim passes its own buffer, which does not change during the call.
    let text = unsafe { bytes(text, len) };
    call.with((), |exchange| {
        if slow::report(text) {
            exchange.trace(text);
        }
    });
}
