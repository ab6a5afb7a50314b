//! `corral upgrade`: has a new main process take over from a running daemon, and says how it went.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use corral_sys::signal::{self, Pid, Signal};
use serde_json::Value;

use crate::main_process::is_main;
use crate::{client, status};

/// A daemon that has seen the signal has a successor by then, unless a change of the configuration goes on.
const LONGEST_BEGINNING: Duration = Duration::from_secs(5);

/// The longest upgrade: the change that it waits for, and the start of the successor, have three minutes each.
const LONGEST_UPGRADE: Duration = Duration::from_secs(6 * 60);

const INTERVAL: Duration = Duration::from_millis(20);

/// How long a daemon that goes on may take to have its control API back.
const LONGEST_RETURN: Duration = Duration::from_secs(5);

pub(crate) fn command(pid_file: &Path, control: &client::Daemon) -> anyhow::Result<ExitCode> {
    let pid = read_pid(pid_file)?;
    let old = pid.as_raw_nonzero();
    // Most others would end at the signal.
    if !is_main(&name_of(&old.to_string())) {
        bail!("process {old}, which \"{}\" names, is not a daemon", pid_file.display());
    }
    let daemon = RunningDaemon { pid_file: pid_file.to_owned(), pid, others: siblings(old.get()) };
    let context = || format!("tell process {old}, which \"{}\" names, to upgrade", pid_file.display());
    signal::kill(daemon.pid, Signal::USR2).with_context(context)?;
    let new = daemon.wait_for_successor(control).map_err(|error| match reason(control, old.get()) {
        Some(reason) => anyhow!("{error}: {reason}"),
        None => anyhow!("{error}: the new process could not take over; the daemon's log says why"),
    })?;
    println!("process {} serves; process {old} finishes what it has begun", new.as_raw_nonzero());
    Ok(ExitCode::SUCCESS)
}

/// Why the daemon could not be replaced, if it can be asked.
fn reason(control: &client::Daemon, pid: i32) -> Option<String> {
    let started = Instant::now();
    loop {
        let reason =
            said_by(control, pid).and_then(|daemon| daemon["last_error"].as_str().map(str::to_owned));
        if reason.is_some() || started.elapsed() > LONGEST_RETURN {
            return reason;
        }
        std::thread::sleep(INTERVAL);
    }
}

/// A daemon's status of itself, if it answers and is the one with that process id.
fn said_by(control: &client::Daemon, pid: i32) -> Option<Value> {
    let daemon = status::read(control).ok()?["daemon"].take();
    (daemon["pid"] == pid).then_some(daemon)
}

struct RunningDaemon {
    pid_file: PathBuf,
    pid: Pid,
    /// Siblings that it had before.
    others: Vec<i32>,
}

impl RunningDaemon {
    /// A successor that serves has written its number into the file; one that cannot has ended.
    fn wait_for_successor(&self, control: &client::Daemon) -> anyhow::Result<Pid> {
        let started = Instant::now();
        let mut patience = LONGEST_BEGINNING;
        let mut seen = false;
        loop {
            if let Ok(pid) = read_pid(&self.pid_file)
                && pid != self.pid
            {
                return Ok(pid);
            }
            let has_successor = self.has_successor();
            if seen && !has_successor || started.elapsed() > LONGEST_UPGRADE {
                bail!("process {} goes on", self.pid.as_raw_nonzero());
            }
            seen |= has_successor;
            if !seen && started.elapsed() > patience {
                if !self.is_to_begin(control) {
                    bail!("process {} has not begun", self.pid.as_raw_nonzero());
                }
                patience += LONGEST_BEGINNING;
            }
            std::thread::sleep(INTERVAL);
        }
    }

    /// Whether the daemon has not refused: it begins once a change of the configuration that goes on is in force.
    fn is_to_begin(&self, control: &client::Daemon) -> bool {
        said_by(control, self.pid.as_raw_nonzero().get()).is_some_and(|daemon| daemon["last_error"].is_null())
    }

    /// Whether there is a sibling of the daemon that was not there before, and is a main process or about to become
    /// one.
    fn has_successor(&self) -> bool {
        let new =
            siblings(self.pid.as_raw_nonzero().get()).into_iter().filter(|pid| !self.others.contains(pid));
        new.map(|pid| name_of(&pid.to_string())).any(|name| is_main(&name) || name == "corral")
    }
}

/// The processes that have the same parent as this one, and a session of their own as what a daemon starts. A command
/// of the shell that has started the daemon has the shell's.
fn siblings(pid: i32) -> Vec<i32> {
    let Some(ProcessFamily { parent, .. }) = ProcessFamily::of(pid) else { return Vec::new() };
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|other| {
        *other != pid && ProcessFamily::of(*other) == Some(ProcessFamily { parent, session: *other })
    })
    .collect()
}

/// The parent and the session of a process.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ProcessFamily {
    parent: i32,
    session: i32,
}

impl ProcessFamily {
    /// `None` for a process that is gone or has ended.
    fn of(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name before may hold anything.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let mut next = || fields.next()?.parse().ok();
        let (parent, _group, session) = (next()?, next()?, next()?);
        (state != "Z").then_some(Self { parent, session })
    }
}

/// The short name of a process; empty if it is gone.
fn name_of(pid: &str) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

fn read_pid(path: &Path) -> anyhow::Result<Pid> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("read the pid file \"{}\" of the daemon (--pid FILE)", path.display()))?;
    let pid = text.trim().parse().ok().and_then(Pid::from_raw);
    pid.with_context(|| format!("\"{}\" holds no process id", path.display()))
}
