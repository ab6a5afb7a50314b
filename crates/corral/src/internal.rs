//! The controller, the router and others: this executable again, started by the main process.

use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use corral_ipc::link::Link;
use corral_sys::process;

use crate::frankenphp;
use crate::log::{self, Style};
use crate::reader;

/// A process that the daemon makes of this executable.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Role {
    Controller,
    Router,
    Reader,
    Program,
    Cgi,
    Exec,
    Frankenphp,
}

pub(crate) fn command(role: Role, console: bool) -> anyhow::Result<ExitCode> {
    let (name, run): (_, fn(Link) -> anyhow::Result<()>) = match role {
        Role::Controller => ("controller", corral_controller::run),
        Role::Router => ("router", corral_router::run),
        Role::Reader => ("reader", |link| reader::run(&link)),
        // It does not log: main makes lines of the log of what it prints.
        Role::Program => return corral_program::run(),
        Role::Cgi => return corral_program::run_scripts(),
        Role::Exec => return corral_program::run_command(),
        Role::Frankenphp => return frankenphp::daemon(),
    };
    let link = Link::inherited().context("this command is for the daemon itself")?;
    log::init(if console { Style::Console } else { Style::File });
    // Only looks: `ps` shows the command when it fails.
    let _ = process::set_title(&format!("corral: {name}"));
    tracing::info!("{name} started");
    match run(link) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            tracing::error!(target: "alert", "{name}: {error:#}");
            Ok(ExitCode::FAILURE)
        }
    }
}
