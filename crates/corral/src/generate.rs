//! What is generated from the definition of the command line: shell completions and manual pages.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;

pub(crate) fn completion(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "corral", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}

pub(crate) fn manual(folder: &Path) -> anyhow::Result<ExitCode> {
    let context = || format!("write manual pages to {}", folder.display());
    fs::create_dir_all(folder).with_context(context)?;
    clap_mangen::generate_to(Cli::command(), folder).with_context(context)?;
    Ok(ExitCode::SUCCESS)
}
