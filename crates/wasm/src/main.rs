//! Runs WebAssembly components: `wasi:http/proxy` on Wasmtime.
//!
//! `corral-wasm prototype` is started by main with a socket to it; `corral-wasm describe` says which WASI this is.
//! Everything about processes and the channel is in `corral-worker`; here is Wasmtime.
//!
//! The prototype compiles the component and links it. Workers share the code, and run each request in an instance of
//! its own.

mod compile;
mod deadline;
mod early_end;
mod engine;
mod feed;
mod guest;
mod instance;
mod outgoing;
mod relay;
mod request;
mod runtime;
mod ticker;

use std::process::ExitCode;

use corral_worker::Language;

fn main() -> ExitCode {
    corral_worker::host_main(&Language {
        name: "wasm-wasi-component",
        // Of WASI: what a component is built for.
        version: "0.2",
        check: || Ok(()),
        files: Vec::new,
        scratch: |_| Vec::new(),
        image: None,
        load: runtime::WasmRuntime::load,
    })
}
