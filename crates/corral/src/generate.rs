//! Shell completions and manual pages, generated from the definition of the command line.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::{daemon, output, unit};

pub(crate) fn completion(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition(), "corral", &mut script);
    output::write(script)?;
    Ok(ExitCode::SUCCESS)
}

/// The whole command line: that of commands which read their arguments by rules of Unit's as well.
fn definition() -> Command {
    Cli::command()
        .mut_subcommand("daemon", |command| with_about(daemon::definition(), &command))
        .mut_subcommand("unitc", |command| with_about(unit::unitc::definition(), &command))
        .mut_subcommand("unitctl", |command| with_about(unit::unitctl::definition(), &command))
}

fn with_about(command: Command, other: &Command) -> Command {
    match other.get_about() {
        Some(about) => command.about(about.clone()),
        None => command,
    }
}

pub(crate) fn manual(folder: &Path) -> anyhow::Result<ExitCode> {
    let context = || format!("write manual pages to {}", folder.display());
    fs::create_dir_all(folder).with_context(context)?;
    clap_mangen::generate_to(definition(), folder).with_context(context)?;
    Ok(ExitCode::SUCCESS)
}
