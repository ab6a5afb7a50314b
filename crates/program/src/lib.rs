//! The prototype of programs that serve HTTP themselves.
//!
//! Main starts it as the application's user and set apart as the application says, as it does with every prototype.
//! For each worker that main wants it makes a place to be reached at (`door`), runs the program (`command`), waits
//! until that is ready (`probe`), and reports it. It never speaks for the program: the router connects to it.
//!
//! The program of applications of CGI is this crate's own (`cgi`): a process that starts a script for each request.

#![forbid(unsafe_code)]

mod background;
mod cgi;
mod command;
mod door;
mod folder;
mod host;
mod java;
mod port;
mod probe;
mod stray;

use std::path::PathBuf;

pub use cgi::run as run_scripts;
pub use host::run;

/// The files that this executable consists of: what it needs in another root.
#[must_use]
pub fn own_files() -> Vec<PathBuf> {
    corral_worker::of_program([])
}
