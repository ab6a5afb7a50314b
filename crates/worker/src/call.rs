//! The running request as the callbacks of an interpreter written in C see it.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::runtime::Exchange;

/// A call that travels through the interpreter as a pointer. No panic may cross its frames: one that a callback raises
/// is kept, and goes on behind the interpreter.
pub struct Call<'a> {
    exchange: &'a mut dyn Exchange,
    panic: Option<Box<dyn Any + Send>>,
    responded: bool,
}

impl<'a> Call<'a> {
    /// A request that is about to be handed to the interpreter.
    pub fn new(exchange: &'a mut dyn Exchange) -> Self {
        Self { exchange, panic: None, responded: false }
    }

    /// The pointer that comes back with every callback.
    pub fn as_ptr(&mut self) -> *mut c_void {
        (&raw mut *self).cast()
    }

    /// Ends the request: continues a panic if there was one, and says whether the interpreter sent a head.
    pub fn finish(self) -> (&'a mut dyn Exchange, bool) {
        if let Some(panic) = self.panic {
            resume_unwind(panic);
        }
        (self.exchange, self.responded)
    }

    /// Sends the head.
    pub fn respond(&mut self, status: u16, fields: &[(&[u8], &[u8])]) {
        self.run((), |call| {
            call.responded = true;
            call.exchange.respond(status, fields);
        });
    }

    /// Reads until the buffer is full or the body has ended: interpreters take a short read for the end.
    pub fn read_fully(&mut self, buffer: &mut [u8]) -> usize {
        self.run(0, |call| {
            let mut filled = 0;
            while filled < buffer.len() {
                match call.exchange.read_body(&mut buffer[filled..]) {
                    Ok(0) | Err(_) => break,
                    Ok(n) => filled += n,
                }
            }
            filled
        })
    }

    /// Does something else with the exchange.
    pub fn with<T>(&mut self, otherwise: T, act: impl FnOnce(&mut dyn Exchange) -> T) -> T {
        self.run(otherwise, |call| act(call.exchange))
    }

    /// Runs one callback. After a panic nothing more is done for this request.
    fn run<T>(&mut self, otherwise: T, body: impl FnOnce(&mut Self) -> T) -> T {
        if self.panic.is_some() {
            return otherwise;
        }
        catch_unwind(AssertUnwindSafe(|| body(self))).unwrap_or_else(|panic| {
            self.panic = Some(panic);
            otherwise
        })
    }
}
