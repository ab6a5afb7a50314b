//! The main process: binds, starts, reaps, restarts, stores. It reads neither HTTP nor JSON nor any
//! other bytes from outside: the controller hands it plans, and it passes documents on unread.
//!
//! One thread, one loop over signals, links, log pipes and deadlines; nothing in it waits for a child.

#![forbid(unsafe_code)]

mod access_log;
mod app;
mod apply;
mod asset_files;
mod background;
mod backoff;
mod changes;
mod control;
mod descriptors;
mod fingerprint;
mod given;
mod launch;
mod listeners;
mod log_file;
pub mod modules;
mod newcomer;
mod options;
mod output;
mod peer;
mod pid_file;
mod predecessor;
mod role;
mod routers;
mod run;
mod service_manager;
mod socket_file;
mod store;
mod supervisor;
mod terminal;
#[cfg(test)]
mod testing;
mod users;

pub use self::options::{Console, ControlOptions, DaemonOptions, FilesOptions, ModuleSource};
pub use self::run::run;
pub use self::users::{Account, UserOptions};
