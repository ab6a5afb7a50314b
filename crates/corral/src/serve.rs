//! `corral run`.

use std::process::ExitCode;

use crate::cli::RunOptions;

pub(crate) fn command(_options: &RunOptions) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not yet")
}
