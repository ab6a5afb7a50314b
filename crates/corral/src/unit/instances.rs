//! Daemons of this machine, found by the titles of their main processes.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, bail};
use corral_sys::signal::{self, Pid, Signal};

/// One daemon.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnitInstance {
    pub(super) pid: u32,
    pub(super) version: String,
    /// The control address, when the command line named it.
    pub(super) control: Option<String>,
}

/// The instances that run, by process id.
pub(super) fn running() -> Vec<UnitInstance> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut found: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let command = fs::read(entry.path().join("cmdline")).ok()?;
            parse(pid, &String::from_utf8_lossy(&command))
        })
        .collect();
    found.sort_by_key(|instance| instance.pid);
    found
}

/// Tells the main process of a daemon to end.
pub(super) fn end(pid: u32) -> anyhow::Result<ExitCode> {
    if running().iter().all(|instance| instance.pid != pid) {
        bail!("process {pid} is not a daemon; `unitctl instances` lists them");
    }
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).context("this is not a process id")?;
    signal::kill(raw, Signal::TERM).with_context(|| format!("tell process {pid} to end"))?;
    println!("process {pid} was told to end");
    Ok(ExitCode::SUCCESS)
}

/// Reads `corral: main vVERSION [ARGUMENTS]`, and `unit: main …` likewise.
fn parse(pid: u32, command: &str) -> Option<UnitInstance> {
    let title = command.trim_matches(['\0', ' ']);
    let rest = title.strip_prefix("corral: main v").or_else(|| title.strip_prefix("unit: main v"))?;
    let (version, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let arguments = rest.trim_start_matches('[').trim_end_matches(']');
    let mut words = arguments.split(['\0', ' ']).skip_while(|word| *word != "--control").skip(1);
    Some(UnitInstance { pid, version: version.to_owned(), control: words.next().map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: Option<(&str, Option<&str>)>) {
        let found = parse(1, command);
        let found = found.as_ref().map(|found| (found.version.as_str(), found.control.as_deref()));
        assert_eq!(found, expected);
    }

    #[test]
    fn titles_are_read() {
        check("corral: main v0.1.0 []", Some(("0.1.0", None)));
        check(
            "corral: main v0.1.0 [--no-daemon --control unix:/run/c.sock --log /x]\0\0",
            Some(("0.1.0", Some("unix:/run/c.sock"))),
        );
        check("unit: main v1.35.0 [unitd --control 127.0.0.1:80]", Some(("1.35.0", Some("127.0.0.1:80"))));
        check("corral: router", None);
        check("grep corral: main v1", None);
    }
}
