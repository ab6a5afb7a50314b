//! The prototype of programs that serve HTTP themselves.
//!
//! Main starts it as the application's user and set apart as the application says, as it does with every prototype.
//! For each worker that main wants it makes a place to be reached at (`endpoint`), runs the program (`command`), waits
//! until that is ready (`probe`), and reports it. It never speaks for the program: the router connects to it.
//!
//! The program of applications of CGI is this crate's own (`cgi`): a process that starts a script for each request.
//!
//! Main knows each process from its first moment (`Begun`): one that is not ready yet ends with its prototype, with all
//! that it has started. A socket that is handed over listens before the program runs, so connecting proves nothing. The
//! program is ready when it has accepted a first connection, after which the listener is not readable any more.
//!
//! The router gets the socket's file as an `O_PATH` descriptor and connects to `/proc/self/fd/N`. This leads to the
//! socket whatever the application's user, mounts and network are. The folder that the socket was made in is closed to
//! others; with a `rootfs` it is main's and lies outside.
//!
//! Applications of Unit's types `external` and `go`, Java (`java`) and FastCGI are such programs too. Packages in
//! `sdk/` replace Unit's: thin adapters that serve on descriptor 3. They learn the client's address from the header
//! `Corral-Client`, which the router adds, and removes from what clients send.

#![forbid(unsafe_code)]

mod background;
mod cgi;
mod command;
mod endpoint;
mod exec;
mod folder;
mod gauge;
mod host;
mod java;
mod port;
mod probe;
mod stray;

use std::path::PathBuf;

pub use cgi::run as run_scripts;
pub use exec::run as run_command;
pub use host::run;

/// The files that this executable consists of: what it needs in another root.
#[must_use]
pub fn own_files() -> Vec<PathBuf> {
    corral_worker::of_program([])
}
