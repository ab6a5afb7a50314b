//! Functions that an interpreter calls while a request runs. None of these frames is alive when it raises an error.

use std::ffi::{c_char, c_int, c_void};
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};
use std::{io, slice};

use corral_worker::{Call, ClientGone, FileRest};
use smallvec::SmallVec;

use crate::ffi::{Field, Host, Slice};

/// Given to the shim at its start.
pub static HOST: Host = Host {
    inform,
    head,
    collects,
    write,
    file,
    flush,
    read,
    finish,
    abort,
    gone,
    hijack,
    remark: warn_once,
    stranger,
};

/// The number of an error that has none; the same on all machines.
const EIO: c_int = 5;

type Fields<'a> = SmallVec<[(&'a [u8], &'a [u8]); 32]>;

/// The running request behind its pointer.
///
/// # Safety
/// `call` was returned by [`Call::as_ptr`] for the request that runs, and nothing else uses it during the callback.
pub unsafe fn call_of<'a>(call: *mut c_void) -> &'a mut Call<'a> {
    // SAFETY: the caller's promise. The shim passes `corral_request_t.call` unchanged, and
    // the thread that made the `Call` waits for the interpreter meanwhile.
    unsafe { &mut *call.cast::<Call<'a>>() }
}

/// The content of a C string of known length.
///
/// # Safety
/// `data` leads to `len` readable bytes that stay as they are for `'a`, or `len` is 0.
pub unsafe fn bytes<'a>(data: *const c_char, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(data.cast(), len) }
}

/// # Safety
/// As [`bytes`].
unsafe fn bytes_of<'a>(slice: Slice) -> &'a [u8] {
    // SAFETY: the caller's promise.
    unsafe { bytes(slice.data, slice.len) }
}

/// # Safety
/// `fields` leads to `n_fields` fields whose strings stay as they are for `'a`, or `n_fields` is 0.
unsafe fn fields_of<'a>(fields: *const Field, n_fields: usize) -> Fields<'a> {
    if n_fields == 0 {
        return Fields::new();
    }
    // SAFETY: the caller's promise.
    let fields = unsafe { slice::from_raw_parts(fields, n_fields) };
    let bytes_of = |field: &Field| {
        // SAFETY: the caller's promise.
        let name = unsafe { bytes_of(field.name) };
        // SAFETY: as above.
        (name, unsafe { bytes_of(field.value) })
    };
    fields.iter().map(bytes_of).collect()
}

unsafe extern "C" fn inform(call: *mut c_void, status: u16, fields: *const Field, n_fields: usize) -> c_int {
    // SAFETY: called by the shim with the running request's pointer.
    let call = unsafe { call_of(call) };
    // SAFETY: the shim passes an array of `n_fields` fields that lives during the call, and so do its strings.
    let fields = unsafe { fields_of(fields, n_fields) };
    call.with(0, |exchange| exchange.inform(status, &fields).is_err().into())
}

unsafe extern "C" fn head(call: *mut c_void, status: u16, fields: *const Field, n_fields: usize) {
    // SAFETY: called by the shim with the running request's pointer.
    let call = unsafe { call_of(call) };
    // SAFETY: the shim passes an array of `n_fields` fields that lives during the call, and so do its strings.
    let fields = unsafe { fields_of(fields, n_fields) };
    call.respond(status, &fields);
}

unsafe extern "C" fn collects(call: *mut c_void, len: usize) -> c_int {
    // SAFETY: called by the shim with the running request's pointer.
    let call = unsafe { call_of(call) };
    call.with(1, |exchange| exchange.collects(len).into())
}

unsafe extern "C" fn write(call: *mut c_void, data: *const c_char, len: usize) -> c_int {
    // SAFETY: called by the shim with the running request's pointer.
    let call = unsafe { call_of(call) };
    // SAFETY: the shim's string stays during the call.
    let data = unsafe { bytes(data, len) };
    call.with(1, |exchange| exchange.write(data).is_err().into())
}

unsafe extern "C" fn file(call: *mut c_void, descriptor: c_int, offset: u64) -> c_int {
    if descriptor < 0 {
        return 1;
    }
    // SAFETY: called by the shim with the running request's pointer.
    let call = unsafe { call_of(call) };
    // SAFETY: the shim's file stays open during the call.
    let file = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let Some(rest) = FileRest::of(file, offset) else { return 1 };
    call.with(0, |exchange| match exchange.send_file(&rest) {
        // A client that is gone needs no bytes of it.
        Ok(true) | Err(ClientGone) => 0,
        Ok(false) => 1,
    })
}

unsafe extern "C" fn flush(call: *mut c_void) {
    // SAFETY: called by the shim with the running request's pointer.
    let call = unsafe { call_of(call) };
    call.with((), |exchange| exchange.flush());
}

unsafe extern "C" fn read(call: *mut c_void, buffer: *mut c_char, len: usize) -> usize {
    if len == 0 {
        return 0;
    }
    // SAFETY: called by the shim with the running request's pointer.
    let call = unsafe { call_of(call) };
    // SAFETY: a writable buffer of `len` bytes, which may hold anything before they are written:
    // they are only written, and the shim uses no more than the count that is returned.
    let buffer = unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>(), len) };
    call.read_fully(buffer)
}

unsafe extern "C" fn finish(call: *mut c_void) {
    // SAFETY: called by the shim with the running request's pointer.
    let call = unsafe { call_of(call) };
    call.with((), |exchange| exchange.finish());
}

unsafe extern "C" fn abort(call: *mut c_void) {
    // SAFETY: called by the shim with the running request's pointer.
    let call = unsafe { call_of(call) };
    call.with((), |exchange| exchange.abort());
}

unsafe extern "C" fn gone(call: *mut c_void) -> c_int {
    // SAFETY: called by the shim with the running request's pointer.
    let call = unsafe { call_of(call) };
    call.with(1, |exchange| exchange.client_gone().into())
}

unsafe extern "C" fn hijack(call: *mut c_void) -> c_int {
    // SAFETY: called by the shim with the running request's pointer.
    let call = unsafe { call_of(call) };
    let taken = call.with(Err(io::ErrorKind::Other.into()), |exchange| exchange.hijack());
    taken.map_or_else(|error| -error.raw_os_error().unwrap_or(EIO), OwnedFd::into_raw_fd)
}

unsafe extern "C" fn warn_once(text: *const c_char, len: usize) {
    // SAFETY: the shim's string stays during the call.
    let text = unsafe { bytes(text, len) };
    corral_worker::warn_once(&String::from_utf8_lossy(text));
}

extern "C" fn stranger() -> c_int {
    corral_worker::is_stranger().into()
}
