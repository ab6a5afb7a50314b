//! Runs Perl applications (PSGI): Perl is started in the prototype, workers are forked from it and answer one request
//! at a time, or one in each of several interpreters.
//!
//! The environment that PSGI asks for is in `shim/corral.pl`, in Perl; the functions that it calls are in
//! `shim/corral_perl.c`. Everything about processes and the channel is in `corral-worker`.

mod ffi;
mod interpreter;
mod runtime;

use std::process::ExitCode;

use corral_worker::Language;

fn main() -> ExitCode {
    corral_worker::host_main(&Language {
        name: "perl",
        version: interpreter::version(),
        check: || Ok(()),
        files: interpreter::folders,
        scratch: runtime::scratch,
        image: None,
        load: runtime::PerlRuntime::load,
    })
}
