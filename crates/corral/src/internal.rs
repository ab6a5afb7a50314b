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
pub(crate) enum InternalRole {
    Controller,
    Router,
    Reader,
    Program,
    Cgi,
    Exec,
    Frankenphp,
}

pub(crate) fn command(role: InternalRole, console: bool) -> anyhow::Result<ExitCode> {
    let (name, run): (_, fn(Link) -> anyhow::Result<()>) = match role {
        InternalRole::Controller => ("controller", corral_controller::run),
        InternalRole::Router => ("router", corral_router::run),
        InternalRole::Reader => ("reader", |link| reader::run(&link)),
        // It does not log: main makes lines of the log of what it prints.
        InternalRole::Program => return corral_program::run(),
        InternalRole::Cgi => return corral_program::run_scripts(),
        InternalRole::Exec => return corral_program::run_command(),
        InternalRole::Frankenphp => return frankenphp::daemon(),
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
