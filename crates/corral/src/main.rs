//! The executable: the daemon, a site in one command, and the tool that talks to a daemon.

#![forbid(unsafe_code)]

mod check;
mod cli;
mod client;
mod config;
mod daemon;
mod files;
mod internal;
mod log;
mod reader;
mod serve;
mod site;
mod status;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::daemon::Flavour;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let result = match arguments.split_first() {
        Some((name, rest)) if is_unitd(name) => daemon::command(&Flavour::unit(), name, rest),
        _ => run(Cli::parse_from(&arguments)),
    };
    result.unwrap_or_else(|error| {
        eprintln!("corral: {error:#}");
        ExitCode::FAILURE
    })
}

/// Whether the executable was called by the name of Unit's daemon.
fn is_unitd(name: &OsString) -> bool {
    Path::new(name).file_name().is_some_and(|name| name == "unitd" || name == "unitd-debug")
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Run(options) => serve::command(&options),
        Command::Daemon { arguments } => {
            daemon::command(&Flavour::corral(), &OsString::from("corral daemon"), &arguments)
        }
        Command::Config { command, control } => config::command(&command, &control.address()?),
        Command::Check(options) => check::command(&options),
        Command::Status { control } => status::command(&control.address()?),
        Command::Internal { role, console } => internal::command(role, console),
    }
}
