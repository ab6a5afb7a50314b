//! Shell completions and manual pages, generated from the definition of the command line, and the schema of
//! configurations, generated from the tables of their options.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::Command;
use clap_complete::Shell;
use corral_config::json::{Bytes, Object, Value};

use crate::{daemon, output, unit};

/// `cli` is what `corral --help` shows.
pub(crate) fn completion(cli: Command, shell: Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut whole(cli), "corral", &mut script);
    output::write(script)?;
    Ok(ExitCode::SUCCESS)
}

/// The whole command line: that of commands which read their arguments by rules of Unit's as well.
fn whole(cli: Command) -> Command {
    cli.mut_subcommand("daemon", |command| with_about(daemon::definition(), &command))
        .mut_subcommand("unitc", |command| with_about(unit::unitc::definition(), &command))
        .mut_subcommand("unitctl", |command| with_about(unit::unitctl::definition(), &command))
}

fn with_about(command: Command, other: &Command) -> Command {
    match other.get_about() {
        Some(about) => command.about(about.clone()),
        None => command,
    }
}

pub(crate) fn manual(cli: Command, folder: &Path) -> anyhow::Result<ExitCode> {
    let context = || format!("write manual pages to {}", folder.display());
    fs::create_dir_all(folder).with_context(context)?;
    clap_mangen::generate_to(whole(cli), folder).with_context(context)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the schema of configuration files for editors. The draft is one that all of them know, with every keyword
/// that is used.
pub(crate) fn schema() -> anyhow::Result<ExitCode> {
    let mut schema = Object::new();
    for (name, text) in
        [("$schema", "http://json-schema.org/draft-07/schema#"), ("title", "Corral configuration")]
    {
        schema.insert(Bytes::from(name), Value::from(text));
    }
    let members = corral_config::configuration_schema();
    let members = members.as_object().into_iter().flatten();
    schema.extend(members.map(|(name, value)| (name.clone(), value.clone())));
    output::print(&Value::Object(schema).pretty())?;
    Ok(ExitCode::SUCCESS)
}
