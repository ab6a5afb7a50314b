//! Runs PHP applications: a SAPI of our own in shim/, one request at a time, opcache shared by all workers.
//!
//! `corral-php prototype` is started by main with a socket to it; `corral-php describe` says which
//! PHP this is. Everything about processes and the channel is in `corral-worker`; here is PHP.

mod callbacks;
mod ffi;
mod files;
mod image;
mod module;
mod path_settings;
mod request;
mod runtime;
mod settings;
mod site;
mod slow;
mod target_sites;
mod tracked;
mod worker_script;

use std::process::ExitCode;

use corral_worker::Language;

fn main() -> ExitCode {
    corral_worker::host_main(&Language {
        name: "php",
        version: module::version(),
        check: module::ensure_compiled_for_it,
        files: files::of_php,
        scratch: files::scratch,
        image: Some(image::PhpImage::load),
        load: runtime::PhpRuntime::load,
    })
}
