//! `corral stop`: ends a daemon when it has finished the requests in progress.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use corral_sys::signal::Signal;

use crate::client::Daemon;
use crate::main_process::MainProcess;

/// The longest end of a daemon that was told to end at once: commands have their time, and others are killed.
const LONGEST_END: Duration = Duration::from_secs(70);

const INTERVAL: Duration = Duration::from_millis(20);

/// Gives requests in progress `timeout` to finish.
pub(crate) fn command(daemon: &Daemon, timeout: Duration) -> anyhow::Result<ExitCode> {
    let process = MainProcess::of(daemon)?;
    let number = process.pid.as_raw_nonzero();
    if !timeout.is_zero() {
        process.signal(Signal::QUIT)?;
        if has_ended(&process, timeout) {
            println!("process {number} has stopped");
            return Ok(ExitCode::SUCCESS);
        }
    }
    // It may have ended meanwhile, which is as well.
    if let Err(error) = process.signal(Signal::TERM)
        && process.runs()
    {
        return Err(error);
    }
    if !has_ended(&process, LONGEST_END) {
        bail!(
            "process {number} has not stopped yet: kill -9 {number} ends it without waiting for its applications"
        );
    }
    println!("process {number} has stopped; requests in progress were not waited for{}", waited(timeout));
    Ok(ExitCode::SUCCESS)
}

fn waited(timeout: Duration) -> String {
    if timeout.is_zero() { String::new() } else { format!(" longer than {} s", timeout.as_secs_f64()) }
}

fn has_ended(process: &MainProcess, patience: Duration) -> bool {
    let begin = Instant::now();
    while process.runs() {
        if begin.elapsed() >= patience {
            return false;
        }
        std::thread::sleep(INTERVAL);
    }
    true
}
