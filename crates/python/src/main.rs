//! Runs Python applications: WSGI and ASGI on an embedded interpreter.
//!
//! `corral-python prototype` is started by main with a socket to it; `corral-python describe` says which
//! Python this is. Everything about processes and the channel is in `corral-worker`; here is Python.
//!
//! The prototype starts the interpreter and forks it. The application is imported in each worker, as with Unit:
//! modules start threads and open connections while they are imported, and neither survives a fork.

mod application;
mod asgi;
mod elsewhere;
mod environment;
mod errors;
mod field;
mod files;
mod interpreter;
mod lease;
mod lenient;
mod prefix;
mod runtime;
mod wsgi;

use std::process::ExitCode;

use corral_worker::Language;

fn main() -> ExitCode {
    corral_worker::host_main(&Language {
        name: "python",
        version: interpreter::version(),
        check: || Ok(()),
        files: files::of_python,
        scratch: |_| Vec::new(),
        image: None,
        load: runtime::PythonRuntime::load,
    })
}
