//! The main process of a daemon of this machine: found by its control socket, known by its name.

use std::fs;

use anyhow::{Context, bail};
use corral_sys::signal::{self, Pid, Signal};
use serde_json::Value;

use crate::client::Daemon;
use crate::status;

/// A main process, and what it says of itself.
pub(crate) struct MainProcess {
    pub(crate) pid: Pid,
    /// `/status` at the beginning.
    pub(crate) status: Value,
}

impl MainProcess {
    /// Asks the control API. A daemon of another machine, or behind the wall of a container, cannot be signalled.
    pub(crate) fn of(daemon: &Daemon) -> anyhow::Result<Self> {
        let status = status::read(daemon)?;
        let number = status["daemon"]["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
        let pid = number.and_then(Pid::from_raw).context("the daemon does not say its process id")?;
        if !runs(pid) {
            bail!(
                "the daemon at \"{}\" is not on this machine, or in another container: do this where process {number} \
                 runs",
                daemon.address,
                number = pid.as_raw_nonzero()
            );
        }
        Ok(Self { pid, status })
    }

    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let number = self.pid.as_raw_nonzero();
        signal::kill(self.pid, signal).map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                anyhow::anyhow!("process {number} belongs to another user: try sudo")
            }
            _ => anyhow::Error::from(error).context(format!("signal process {number}")),
        })
    }

    pub(crate) fn runs(&self) -> bool {
        runs(self.pid)
    }
}

/// Whether a main process has this number, and has not ended.
fn runs(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    let Some((name, rest)) = stat.rsplit_once(')') else { return false };
    let has_ended = rest.trim_start().starts_with(['Z', 'X']);
    name.split_once('(').is_some_and(|(_, name)| is_main(name)) && !has_ended
}

/// Whether this is what the main process calls itself.
pub(crate) fn is_main(name: &str) -> bool {
    name.starts_with("main v")
}
