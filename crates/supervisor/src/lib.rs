//! The main process: binds, starts, reaps, restarts, stores. It reads neither HTTP nor JSON nor any
//! other bytes from outside: the controller hands it plans, and it passes documents on unread.
//!
//! One thread, one loop over signals, links, log pipes and deadlines; nothing in it waits for a child.

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
mod files;
mod fingerprint;
mod given;
mod ids;
mod inheritance;
mod launch;
mod listeners;
mod log_file;
mod machine;
pub mod modules;
mod options;
mod pid_file;
mod predecessor;
mod programs;
mod provisions;
mod questions;
mod restarts;
mod run;
mod service_manager;
mod sharing;
mod socket_file;
mod store;
mod stored;
mod supervisor;
mod terminal;
#[cfg(test)]
mod testing;
mod upgrade;
mod users;
mod watch;

pub use self::options::{Console, ControlOptions, DaemonOptions, FilesOptions, ModuleSource};
pub use self::run::run;
pub use self::users::{Account, UserOptions};
