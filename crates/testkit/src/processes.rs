//! Processes as `/proc` shows them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub use rustix::process::Signal;
use rustix::process::{Pid, Resource as Limited, Rlimit, getrlimit, setrlimit};

use crate::wait::{eventually, within};

/// A process that existed when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The parent's process id.
    pub parent: u32,
    /// The kernel's short name: at most 15 bytes, so `"php" worker` for a worker of "php".
    pub name: String,
    /// The user that it runs as.
    pub uid: u32,
}

/// All descendants of `root` that exist now, without it and without zombies.
#[must_use]
pub fn descendants(root: u32) -> Vec<Process> {
    let all = all_processes();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|process| process.parent == parent) {
            parents.push(process.pid);
            found.push(process.clone());
        }
    }
    found
}

/// Sockets, pipes and memory that a process has at descriptor `first` or above. Only root sees those of others.
pub(crate) fn held(pid: u32, first: u32) -> BTreeSet<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let wanted = entries.filter(|entry| {
        entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
            .is_some_and(|number| number >= first)
    });
    let links = wanted.filter_map(|entry| fs::read_link(entry.path()).ok());
    let names = links.map(|link| link.to_string_lossy().into_owned());
    names.filter(|name| ["socket:", "pipe:", "/memfd:"].iter().any(|kind| name.starts_with(kind))).collect()
}

fn all_processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(read_process).collect()
}

fn read_process(pid: u32) -> Option<Process> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"))?;
        Some(line.to_owned())
    };
    if field("State")?.starts_with('Z') {
        return None;
    }
    let uid = field("Uid")?.split('\t').next()?.parse().ok()?;
    Some(Process { pid, parent: field("PPid")?.parse().ok()?, name: field("Name")?, uid })
}

/// Whether the process runs: a zombie does not.
#[must_use]
pub fn is_alive(pid: u32) -> bool {
    read_process(pid).is_some()
}

/// How many descriptors a process has open; nothing if it is gone.
#[must_use]
pub fn open_descriptors(pid: u32) -> Option<usize> {
    Some(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count())
}

/// Private memory of a process in bytes, that is, without what it shares with others; nothing if it is gone.
#[must_use]
pub fn private_memory(pid: u32) -> Option<u64> {
    sum_of_memory(pid, "Private_")
}

/// Memory of a process in bytes, with its share of what it has together with others; nothing if it is gone.
#[must_use]
pub fn proportional_memory(pid: u32) -> Option<u64> {
    sum_of_memory(pid, "Pss:")
}

fn sum_of_memory(pid: u32, prefix: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let lines = text.lines().filter(|line| line.starts_with(prefix));
    let kib = lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    Some(1024 * kib.sum::<u64>())
}

/// Memory of a process in RAM in bytes, shared or not; nothing if it is gone.
#[must_use]
pub fn resident_memory(pid: u32) -> Option<u64> {
    sum_of_memory(pid, "Rss:")
}

/// How long the threads of a process have had a processor; nothing if it is gone.
#[must_use]
pub fn processor_time(pid: u32) -> Option<Duration> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    Some(threads.filter_map(|thread| scheduled(&thread.path(), 0)).sum())
}

/// How long the threads of processes, and this one, were ready to run while others had the processors. Those that are
/// gone do not count.
#[must_use]
pub(crate) fn held_up(pids: &[u32]) -> Duration {
    let folders = pids.iter().filter_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).ok());
    let threads = folders.flat_map(|folder| folder.flatten().map(|thread| thread.path()));
    threads.chain([PathBuf::from("/proc/thread-self")]).filter_map(|thread| scheduled(&thread, 1)).sum()
}

/// A thread of any process.
#[derive(Debug)]
pub struct Thread(PathBuf);

impl Thread {
    /// The thread that calls; nothing if the system does not tell.
    #[must_use]
    pub fn current() -> Option<Self> {
        fs::read_link("/proc/thread-self").ok().map(|thread| Self(Path::new("/proc").join(thread)))
    }

    /// The thread of a process that has a processor for longest while something is done, but not the one that calls;
    /// nothing if the process is gone.
    #[must_use]
    pub fn busiest(pid: u32, act: impl FnOnce()) -> Option<Self> {
        let Self(own) = Self::current()?;
        let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten().map(|thread| thread.path());
        let threads: Vec<PathBuf> = threads.filter(|thread| *thread != own).collect();
        let times = || threads.iter().map(|thread| scheduled(thread, 0).unwrap_or_default());
        let before: Vec<Duration> = times().collect();
        act();
        let spent = times().zip(before).map(|(after, before)| after.saturating_sub(before));
        let (_, busiest) = spent.zip(&threads).max_by_key(|(spent, _)| *spent)?;
        Some(Self(busiest.clone()))
    }

    /// How long it was ready to run while others had the processors; no time if it is gone.
    #[must_use]
    pub fn held_up(&self) -> Duration {
        scheduled(&self.0, 1).unwrap_or_default()
    }
}

/// One of the times that the kernel keeps of a thread: with a processor, and waiting for one.
fn scheduled(thread: &Path, which: usize) -> Option<Duration> {
    let text = fs::read_to_string(thread.join("schedstat")).ok()?;
    text.split_whitespace().nth(which)?.parse().ok().map(Duration::from_nanos)
}

/// Lets this process have as many descriptors as it may, and returns how many.
///
/// # Panics
/// When the system has changed its mind.
pub fn raise_descriptor_limit() -> u64 {
    let maximum = getrlimit(Limited::Nofile).maximum;
    setrlimit(Limited::Nofile, Rlimit { current: maximum, maximum }).expect("up to the hard limit");
    maximum.unwrap_or(u64::MAX)
}

/// Resources of a process that the kernel can limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Numbers of descriptors.
    Descriptors,
    /// Processes of its user.
    Processes,
    /// Bytes of addresses.
    Addresses,
}

/// Sets how much of a resource a running process may have from now on; nothing is as much as it may at all. What is
/// asked for as the user of that process needs no privileges.
///
/// # Panics
/// When the process is gone, or prlimit(1) is missing.
pub fn limit(pid: u32, resource: Resource, most: Option<u64>) {
    let (name, option) = match resource {
        Resource::Descriptors => ("Max open files", "nofile"),
        Resource::Processes => ("Max processes", "nproc"),
        Resource::Addresses => ("Max address space", "as"),
    };
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).expect("it runs");
    let (limits, status) = (read("limits"), read("status"));
    let maximum = limits.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().nth(1));
    let number = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u32>().ok())
    };
    let new = most.map_or_else(|| maximum.expect("it has a limit").to_owned(), |most| most.to_string());
    let mut command = Command::new("prlimit");
    command.args(["--pid", &pid.to_string(), &format!("--{option}={new}:")]);
    if rustix::process::geteuid().is_root() {
        command.uid(number("Uid:").expect("it has a user")).gid(number("Gid:").expect("it has a group"));
    }
    assert!(command.status().expect("prlimit(1) is there").success(), "it does what it is told");
}

/// Sends a signal to a process that the test started; one that is gone already gets none.
pub fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id is positive");
    let _ = rustix::process::kill_process(pid, signal);
}

/// Ends a process that another one than the test has started, and all descendants of it.
pub fn end_stranger(pid: u32) {
    if !is_alive(pid) {
        return;
    }
    let started = descendants(pid);
    signal(pid, Signal::TERM);
    let _ = within(Duration::from_secs(10), || (!is_alive(pid)).then_some(()));
    for pid in started.iter().map(|process| process.pid).chain([pid]).filter(|pid| is_alive(*pid)) {
        signal(pid, Signal::KILL);
    }
}

/// Stops a process, and waits until each of its threads stands still: the kernel has one of them stop the others, which
/// go on until that one gets a processor.
///
/// # Panics
/// When it does not stop in time.
#[track_caller]
pub fn stop(pid: u32) {
    signal(pid, Signal::STOP);
    eventually("it stands still", || {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs").flatten();
        let is_stopped = |thread: &Path| {
            let status = fs::read_to_string(thread.join("status")).unwrap_or_default();
            status.lines().any(|line| line.starts_with("State:\tT"))
        };
        { threads }.all(|thread| is_stopped(&thread.path())).then_some(())
    });
}
