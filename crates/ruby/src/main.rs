//! Runs Ruby applications (Rack): Ruby is started in the prototype, workers are forked from it and answer one request
//! at a time, or several in threads of Ruby.
//!
//! The environment that Rack asks for is in `shim/request.rb`, in Ruby; the object that it calls is in
//! `shim/corral_exchange.c`. Everything about processes and the channel is in `corral-worker`.

mod ffi;
mod interpreter;
mod runtime;

use std::process::ExitCode;

use corral_worker::Language;

fn main() -> ExitCode {
    corral_worker::host_main(&Language {
        name: "ruby",
        version: interpreter::version(),
        check: || Ok(()),
        files: interpreter::folders,
        scratch: runtime::scratch,
        image: None,
        load: runtime::RubyRuntime::load,
    })
}
