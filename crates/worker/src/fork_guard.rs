//! The running request for those processes alone whose request it is: one that the application forks off has no
//! channel.
//!
//! `corral_sys::forked` puts private memory and idle descriptors in place of the channel's before other code runs in
//! such a child. A page that the kernel wipes at fork tells, also after a raw clone(2). When the application returns
//! there, its language ends the process in order, with the exit code that was asked for.

use std::io;
use std::os::fd::OwnedFd;

use corral_channel::message::Malformed;
use corral_sys::forked::is_stranger;
use rustix::io::Errno;

use crate::client_gone::ClientGone;
use crate::file::FileRest;
use crate::runtime::Exchange;

/// An exchange that is left alone by a forked child, where nothing is read or written. Not even a lock is taken there,
/// as the thread that holds it may be in the other process.
pub(crate) struct ForkGuard<'a>(pub(crate) &'a mut dyn Exchange);

impl Exchange for ForkGuard<'_> {
    fn read_body(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if is_stranger() { Err(io::ErrorKind::ConnectionAborted.into()) } else { self.0.read_body(buffer) }
    }

    fn body_at_hand(&self) -> (&[u8], bool) {
        self.0.body_at_hand()
    }

    fn skip_body(&mut self, n: usize) {
        self.0.skip_body(n);
    }

    fn inform(&mut self, status: u16, fields: &[(&[u8], &[u8])]) -> Result<(), Malformed> {
        if is_stranger() { Ok(()) } else { self.0.inform(status, fields) }
    }

    fn respond(&mut self, status: u16, fields: &[(&[u8], &[u8])]) {
        if !is_stranger() {
            self.0.respond(status, fields);
        }
    }

    fn refuse(&mut self, status: u16) {
        if !is_stranger() {
            self.0.refuse(status);
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), ClientGone> {
        if is_stranger() { Err(ClientGone) } else { self.0.write(bytes) }
    }

    fn send_file(&mut self, file: &FileRest<'_>) -> Result<bool, ClientGone> {
        if is_stranger() { Err(ClientGone) } else { self.0.send_file(file) }
    }

    fn flush(&mut self) {
        if !is_stranger() {
            self.0.flush();
        }
    }

    fn collects(&self, n_bytes: usize) -> bool {
        is_stranger() || self.0.collects(n_bytes)
    }

    fn finish(&mut self) {
        if !is_stranger() {
            self.0.finish();
        }
    }

    fn abort(&mut self) {
        if !is_stranger() {
            self.0.abort();
        }
    }

    fn client_gone(&mut self) -> bool {
        is_stranger() || self.0.client_gone()
    }

    fn hijack(&mut self) -> io::Result<OwnedFd> {
        if is_stranger() { Err(Errno::PIPE.into()) } else { self.0.hijack() }
    }

    fn leave_state(&mut self, kinds: u32) {
        if !is_stranger() {
            self.0.leave_state(kinds);
        }
    }

    fn trace(&mut self, text: &[u8]) {
        if !is_stranger() {
            self.0.trace(text);
        }
    }

    fn note(&mut self, text: &[u8]) {
        if !is_stranger() {
            self.0.note(text);
        }
    }
}
