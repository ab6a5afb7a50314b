//! A load generator. In its open loop, requests leave by a schedule whatever the server does, and times count from when
//! a request was due; in its closed loop, each connection asks again once it has its answer.
#![forbid(unsafe_code)]

mod ammo;
mod cli;
mod clock;
mod connection;
mod engine;
mod expect;
mod failure;
mod histogram;
mod message;
mod origin;
mod outcome;
mod phout;
mod prepare;
mod report;
mod requests;
mod rules;
mod run;
mod schedule;
mod syntax;
mod tally;
mod targets;
mod tls;
mod transport;

use std::fs;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use crate::cli::Options;
use crate::phout::PhoutFile;
use crate::report::Results;
use crate::run::{Stop, Summary};

/// A run that a rule ended, or without an answer.
const EXIT_BAD: u8 = 1;

/// A command line or a file that is wrong.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let options = Options::parse();
    match run_with(&options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("corral-tank: {error:#}");
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn run_with(options: &Options) -> Result<ExitCode> {
    let (settings, setup) = prepare::prepare(options)?;
    let plan = settings.plan.clone();
    let phout = options.phout.as_deref().map(PhoutFile::create).transpose()?;
    let rules = options.stop.concat();
    let is_watched = stderr().is_terminal();
    let on_second = |second: &run::Second| {
        if is_watched {
            eprintln!("{}", report::progress(second));
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let summary = runtime.block_on(run::run(settings, rules, phout, on_second))?;
    tell(options, &Results { setup: &setup, plan: &plan, summary: &summary })?;
    Ok(exit_code(&summary))
}

/// Prints the summary and writes it to the files that were asked for.
fn tell(options: &Options, results: &Results<'_>) -> Result<()> {
    let is_json = options.json.as_deref() == Some(Path::new("-"));
    if let Some(path) = &options.json {
        let json = format!("{:#}\n", report::json(results));
        if is_json {
            stdout().write_all(json.as_bytes()).context("write to the standard output")?;
        } else {
            fs::write(path, json).with_context(|| format!("write {}", path.display()))?;
        }
    }
    if !is_json {
        stdout().write_all(report::text(results).as_bytes()).context("write to the standard output")?;
    }
    Ok(())
}

fn exit_code(summary: &Summary) -> ExitCode {
    let is_bad = matches!(summary.stop, Some(Stop::Rule(_))) || summary.total.answered == 0;
    if is_bad { ExitCode::from(EXIT_BAD) } else { ExitCode::SUCCESS }
}
