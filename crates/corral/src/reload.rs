//! `corral reload`: has a daemon read its configuration files again, and says what has come of it.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use corral_sys::signal::Signal;
use serde_json::Value;

use crate::client::Daemon;
use crate::main_process::MainProcess;
use crate::status;

/// Applications may take their time to load.
const LONGEST: Duration = Duration::from_secs(10 * 60);

const INTERVAL: Duration = Duration::from_millis(50);

pub(crate) fn command(daemon: &Daemon) -> anyhow::Result<ExitCode> {
    let process = MainProcess::of(daemon)?;
    let before = &process.status["config"];
    let Some(files) = before["files"].as_str() else {
        bail!(
            "the configuration of this daemon does not come from files: `corral config apply FILE` puts one in force, \
             `corral restart APPLICATION` loads the code of an application anew"
        );
    };
    process.signal(Signal::HUP)?;
    let after = wait_for_change(daemon, before["changes"].as_u64())?;
    match after["last_error"].as_str() {
        Some(reason) => Err(anyhow!("nothing has changed: {reason}")),
        None => {
            println!("the configuration in {files} is in force");
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// `/status/config` when another change is settled.
fn wait_for_change(daemon: &Daemon, before: Option<u64>) -> anyhow::Result<Value> {
    let begin = Instant::now();
    while begin.elapsed() < LONGEST {
        // A controller that is being started anew answers later.
        if let Ok(mut status) = status::read(daemon)
            && status["config"]["changes"].as_u64() != before
        {
            return Ok(status["config"].take());
        }
        std::thread::sleep(INTERVAL);
    }
    bail!("the daemon has not put it in force within {} minutes; its log says more", LONGEST.as_secs() / 60)
}
