//! `corral` under the name `frankenphp`: what Laravel Octane asks of FrankenPHP, done by Corral.

mod addresses;
mod admin;
mod certificate;
mod daemon;
mod document;
mod globals;
mod lines;
mod logs;
mod pages;
mod passing;
mod plan;
mod run;
mod site;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

pub(crate) use self::daemon::run as daemon;
use crate::output;

/// The release of FrankenPHP whose behaviour Corral has. Octane wants 1.3.0 at least.
const VERSION: &str = "v1.10.0";

/// `frankenphp version`.
const BANNER: &str = concat!("v1.10.0, by Corral ", env!("CARGO_PKG_VERSION"));

/// Corral in the place of FrankenPHP: serves PHP applications that stay in memory.
#[derive(Debug, Parser)]
#[command(name = "frankenphp", version = BANNER, max_term_width = 100)]
struct FrankenphpCli {
    #[command(subcommand)]
    command: FrankenphpCommand,
}

/// The commands of FrankenPHP that Corral understands.
#[derive(Debug, Subcommand)]
pub(crate) enum FrankenphpCommand {
    /// Serve what a Caddyfile says, until SIGINT or SIGTERM
    Run(Source),
    /// Say whether a Caddyfile can be served
    Validate(Source),
    /// Print which version of FrankenPHP this stands for, as a program in Go would
    BuildInfo,
    /// Print the version
    Version,
}

#[derive(Debug, Args)]
pub(crate) struct Source {
    /// The Caddyfile
    #[arg(short, long, value_name = "FILE", default_value = "Caddyfile")]
    config: PathBuf,
    /// The notation of the file; there is only this one
    #[arg(short, long, value_parser = ["caddyfile"])]
    adapter: Option<String>,
}

/// Under the name `frankenphp`.
pub(crate) fn command(arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    let name = OsString::from("frankenphp");
    run(&FrankenphpCli::parse_from([&name].into_iter().chain(arguments)).command)
}

pub(crate) fn run(command: &FrankenphpCommand) -> anyhow::Result<ExitCode> {
    match command {
        FrankenphpCommand::Run(source) => run::command(&source.config),
        FrankenphpCommand::Validate(source) => {
            plan::CaddyfilePlan::read(&source.config)?;
            output::write("Valid configuration\n")?;
            Ok(ExitCode::SUCCESS)
        }
        FrankenphpCommand::BuildInfo => {
            let corral = format!("path\tcorral\nmod\tcorral\tv{}\t\n", env!("CARGO_PKG_VERSION"));
            output::write(format!("{corral}dep\tgithub.com/dunglas/frankenphp\t{VERSION}\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        FrankenphpCommand::Version => {
            output::write(format!("FrankenPHP {BANNER}\n"))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
