//! The executable: the daemon, a site in one command, and the tool that talks to a daemon.

#![forbid(unsafe_code)]

mod asset;
mod authority;
mod check;
mod cli;
mod client;
mod config;
mod daemon;
mod dashboard;
mod entrypoint;
mod exec;
mod files;
mod foreground;
mod frankenphp;
mod generate;
mod internal;
mod log;
mod logs;
mod main_process;
mod output;
mod reader;
mod reload;
mod serve;
mod site;
mod status;
mod stop;
mod top;
mod trust;
mod unit;
mod upgrade;
mod user_dirs;
mod words;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::{CommandFactory, Parser};
use corral_config::plan::AssetKind;

use crate::cli::{Cli, Command};
use crate::daemon::Flavour;

#[global_allocator]
static ALLOCATOR: corral_memory::Allocator = corral_memory::Allocator;

fn main() -> ExitCode {
    if let Err(error) = corral_sys::process::set_undumpable() {
        eprintln!("corral: keep other processes out of this one's memory: {error}");
        return ExitCode::FAILURE;
    }
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let result = match arguments.split_first() {
        Some((name, rest)) => match file_name(name) {
            "unitd" | "unitd-debug" => daemon::command(&Flavour::unit(), name, rest),
            "unitc" => unit::unitc::command(rest),
            "frankenphp" => frankenphp::command(rest),
            "unitctl" => unit::unitctl::command(rest),
            _ => match words::remedy(rest) {
                Some(text) => Err(anyhow!(text)),
                None if is_start_command(rest) => daemon(rest),
                None => run(Cli::parse_from(&arguments)),
            },
        },
        None => run(Cli::parse_from(&arguments)),
    };
    result.unwrap_or_else(|error| {
        eprintln!("corral: {error:#}");
        ExitCode::FAILURE
    })
}

/// By which name the executable was called: a link may have one of Unit's.
fn file_name(name: &OsString) -> &str {
    Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Options alone are a start command of `unitd` in which the name was changed.
fn is_start_command(arguments: &[OsString]) -> bool {
    let is_ours = |option: &str| matches!(option, "--help" | "--version");
    arguments
        .first()
        .and_then(|option| option.to_str())
        .is_some_and(|option| option.starts_with("--") && !is_ours(option))
}

fn daemon(arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    daemon::command(&Flavour::corral(), &OsString::from("corral daemon"), arguments)
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Run(options) => serve::command(&options),
        Command::Trust(options) => trust::command(&options),
        Command::Daemon { arguments } => daemon(&arguments),
        Command::Config { command, control } => config::command(&command, &control.daemon()?),
        Command::Check(options) => check::command(&options),
        Command::Schema => generate::schema(),
        Command::Status { watch, json, control } => {
            let form = if json { status::Form::Json } else { status::Form::Words };
            status::command(&control.daemon()?, watch, form)
        }
        Command::Top { interval, control } => top::command(&control.daemon()?, interval),
        Command::Dashboard { options, control } => dashboard::command(&options, &control.daemon()?),
        Command::Certificate { command, control } => {
            asset::command(&command, AssetKind::Certificate, &control.daemon()?)
        }
        Command::JsModule { command, control } => {
            asset::command(&command, AssetKind::Script, &control.daemon()?)
        }
        Command::Logs { options, control } => logs::command(&control.daemon()?, &options),
        Command::Stop { timeout, control } => stop::command(&control.daemon()?, timeout),
        Command::Reload { control } => reload::command(&control.daemon()?),
        Command::Restart { application, control } => asset::restart(application, &control.daemon()?),
        Command::Start { application, control } => asset::start(application, &control.daemon()?),
        Command::Exec(options) => exec::command(&options),
        Command::Upgrade { pid, control } => upgrade::command(&pid, &control.daemon()?),
        Command::Unitc { arguments } => unit::unitc::command(&arguments),
        Command::Unitctl { arguments } => unit::unitctl::command(&arguments),
        Command::Frankenphp { command } => frankenphp::run(&command),
        Command::Entrypoint { command } => entrypoint::command(&command),
        Command::Completion { shell } => generate::completion(Cli::command(), shell),
        Command::Man { folder } => generate::manual(Cli::command(), &folder),
        Command::Version => {
            output::write(concat!("corral ", env!("CARGO_PKG_VERSION"), "\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Internal { role, console } => internal::command(role, console),
    }
}
