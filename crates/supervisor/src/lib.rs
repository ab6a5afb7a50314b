//! The main process: binds, starts, reaps, restarts, stores. It reads neither HTTP nor JSON nor any
//! other bytes from outside: the controller hands it plans, and it passes documents on unread.
//!
//! One thread, one loop over signals, links, log pipes and deadlines; nothing in it waits for a child.
//!
//! `supervisor` is the loop; the files of its folder join the parts. `decide` holds decisions without processes,
//! sockets or files. `children` knows the processes that run and how each is reached. `configuration` has the one in
//! force, the one being applied and what waits; `launch` starts processes. `stored` has what the next start finds,
//! `inheritance` what a successor gets; `audience` reports to people and service managers.
//!
//! Three owners decide how main goes on, each with data that nothing else touches: `configuration::Configuration` puts
//! configurations in force, `decide::upgrade::Upgrade` has another main process take over, `decide::stop::Stopping`
//! ends this one. They get events and return effects; `supervisor::effects` carries those out, by the other parts.
//!
//! Each child is in a session of its own without a terminal, reads `/dev/null` and writes to pipes of main's. A child
//! that a signal has stopped is reported like one that has ended, and killed if it does not go on within two seconds.
//!
//! Main trusts no child. A link delivers a message with the kinds of descriptors that it names or ends its sender
//! (`corral_ipc::link`). A prototype answers each request once; a worker is a process that the kernel calls the
//! prototype's child, and is killed by its pidfd. A router speaks of its own instances alone; a controller numbers
//! configurations upwards. What a child does not read is bounded (`children::peer::outbox`), and so is its share of a
//! turn of the loop. Words of applications are cut, lose control characters and are indented in the log. A controller
//! still decides what runs, and as which user.

#![forbid(unsafe_code)]

mod access_log;
mod asset_files;
mod audience;
mod background;
mod children;
mod code;
mod configuration;
mod control;
mod decide;
mod earlier;
mod files;
mod fingerprint;
mod given;
mod ids;
mod inheritance;
mod issued_secrets;
mod launch;
mod listeners;
mod log_file;
mod machine;
pub mod modules;
mod options;
mod output;
mod peer;
mod pid_file;
mod predecessor;
mod programs;
mod questions;
mod replacing;
mod restarts;
mod run;
mod service_manager;
mod sharing;
mod socket_file;
mod store;
mod stored;
mod supervisor;
mod temp_dir;
mod terminal;
#[cfg(test)]
mod testing;
mod usage;
mod users;
mod watch;

pub use self::launch::exec::{Attached, Attachment, start as start_exec};
pub use self::options::{ConsoleOptions, ControlOptions, DaemonOptions, FilesOptions, ModuleSource};
pub use self::run::run;
pub use self::users::{Account, UserOptions};
