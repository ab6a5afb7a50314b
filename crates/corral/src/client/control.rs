//! The options of all commands that ask a daemon.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::{Address, Daemon};
use crate::daemon;

/// Where the daemon is asked.
#[derive(Debug, Args)]
pub(crate) struct Control {
    /// Control socket of the daemon: unix:PATH or ADDRESS:PORT
    #[arg(long, env = "CORRAL_CONTROL", default_value = daemon::DEFAULT_CONTROL, global = true)]
    control: String,
    /// File with the token that the control socket asks for
    #[arg(long, env = "CORRAL_CONTROL_TOKEN_FILE", value_name = "FILE", global = true)]
    control_token_file: Option<PathBuf>,
}

impl Control {
    /// The daemon; a plain path means a socket file.
    pub(crate) fn daemon(&self) -> anyhow::Result<Daemon> {
        let read = |path: &PathBuf| {
            let token = std::fs::read_to_string(path);
            let token = token.with_context(|| format!("read the token in \"{}\"", path.display()))?;
            anyhow::Ok(token.trim().to_owned())
        };
        let token = self.control_token_file.as_ref().map(read).transpose()?;
        Ok(Daemon { address: Address::parse(&self.control)?, token })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_control(text: &str, expected: Option<&str>) {
        let control = Control { control: text.to_owned(), control_token_file: None };
        assert_eq!(control.daemon().ok().map(|daemon| daemon.address.to_string()).as_deref(), expected);
    }

    #[test]
    fn control_addresses() {
        check_control("unix:/run/c.sock", Some("unix:/run/c.sock"));
        check_control("/run/c.sock", Some("unix:/run/c.sock"));
        check_control("./c.sock", Some("unix:./c.sock"));
        check_control("127.0.0.1:90", Some("127.0.0.1:90"));
        check_control("localhost", None);
    }
}
