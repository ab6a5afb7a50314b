//! The controller and the router: this executable again, started by the main process.

use std::process::ExitCode;

use anyhow::Context;
use corral_ipc::link::Link;
use corral_sys::process;

use crate::cli::Role;
use crate::log::{self, Style};
use crate::reader;

pub(crate) fn command(role: Role, console: bool) -> anyhow::Result<ExitCode> {
    let link = Link::inherited().context("this command is for the daemon itself")?;
    log::init(if console { Style::Console } else { Style::File });
    let name = match role {
        Role::Controller => "controller",
        Role::Router => "router",
        Role::Reader => "reader",
    };
    // Only looks: `ps` shows the command when it fails.
    let _ = process::set_title(&format!("corral: {name}"));
    tracing::info!("{name} started");
    let result = match role {
        Role::Controller => corral_controller::run(link),
        Role::Router => corral_router::run(link),
        Role::Reader => reader::run(&link),
    };
    match result {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            tracing::error!(target: "alert", "{name}: {error:#}");
            Ok(ExitCode::FAILURE)
        }
    }
}
