//! `corral logs`: the last lines of a daemon's log, or of what one application says, and those that follow.

mod tail;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use serde_json::Value;

use self::tail::Tail;
use crate::client::Daemon;
use crate::main_process::MainProcess;
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct LogsOptions {
    /// Go on with new lines as they come
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Lines of this application alone
    #[arg(long, value_name = "NAME")]
    pub(crate) app: Option<String>,
    /// How many lines of the past
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 100)]
    pub(crate) lines: usize,
}

/// How often new lines are looked for.
const INTERVAL: Duration = Duration::from_millis(200);

pub(crate) fn command(daemon: &Daemon, options: &LogsOptions) -> anyhow::Result<ExitCode> {
    let process = MainProcess::of(daemon)?;
    let mut tails = tails(daemon, options, &process)?;
    for tail in &mut tails {
        output::write(tail.last(options.lines)?)?;
    }
    if !options.follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        std::thread::sleep(INTERVAL);
        for tail in &mut tails {
            if print(&tail.more()?).is_err() {
                return Ok(ExitCode::SUCCESS); // the reader has gone
            }
        }
    }
}

fn print(text: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text).and_then(|()| stdout.flush())
}

fn tails(daemon: &Daemon, options: &LogsOptions, process: &MainProcess) -> anyhow::Result<Vec<Tail>> {
    let own_files = match &options.app {
        Some(name) => files_of(daemon, name)?,
        None => Vec::new(),
    };
    let mut tails: Vec<_> = own_files.into_iter().map(|path| Tail::new(path, None)).collect();
    match process.status["daemon"]["log"].as_str() {
        Some(log) => tails.push(Tail::new(log.into(), options.app.clone())),
        None if tails.is_empty() => bail!(
            "the log of process {} is its standard error, which is where it was started; by systemd: journalctl -u \
             corral; in a container: docker logs",
            process.pid.as_raw_nonzero()
        ),
        None => {}
    }
    Ok(tails)
}

/// The files that an application writes to in place of the log.
fn files_of(daemon: &Daemon, name: &str) -> anyhow::Result<Vec<PathBuf>> {
    let config = daemon.get("/config/applications")?;
    let applications: Value = match config.status {
        404 => Value::Null,
        _ => serde_json::from_slice(&config.into_body()?)?,
    };
    let Some(application) = applications.get(name) else {
        let names: Vec<_> = applications.as_object().into_iter().flatten().map(|(name, _)| &**name).collect();
        let there = if names.is_empty() {
            "there is none".to_owned()
        } else {
            format!("there are: {}", names.join(", "))
        };
        bail!("there is no application \"{name}\"; {there}");
    };
    let files = ["stdout", "stderr"].iter().filter_map(|member| application[member].as_str());
    let mut files: Vec<_> = files.map(PathBuf::from).filter(|path| path.is_file()).collect();
    files.dedup();
    Ok(files)
}
