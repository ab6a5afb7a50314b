//! Processes that another process says are its children: believed as far as the kernel says so, too.

use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, Signal, pidfd_send_signal};

use crate::{process, signal};

/// A process that was somebody's child when it was looked at.
#[derive(Debug)]
pub struct VerifiedChild {
    pid: Pid,
    /// Missing where the system has no such descriptors.
    pidfd: Option<OwnedFd>,
}

/// A process is not the one that was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAChild {
    /// The process has another parent.
    #[error("process {pid} is not its child")]
    Stranger {
        /// The number of that process.
        pid: Pid,
    },
    /// Number and descriptor are of two processes.
    #[error("process {pid} is not number {number}")]
    OtherNumber {
        /// The number of the process behind the descriptor.
        pid: Pid,
        /// The number that was given.
        number: u32,
    },
}

impl VerifiedChild {
    /// The process that `parent` calls `number`, in its own namespace of processes if it `has_namespace`, and has sent
    /// `pidfd` of. Nothing when there is no such process any more, or nothing can be found out.
    ///
    /// # Errors
    /// When it is another process.
    pub fn find(
        parent: Pid,
        number: u32,
        has_namespace: bool,
        pidfd: Option<OwnedFd>,
    ) -> Result<Option<Self>, NotAChild> {
        let Some(pidfd) = pidfd else {
            return Ok(if has_namespace { None } else { by_number(parent, number) });
        };
        let Some(pid) = process::pid_behind(&pidfd) else { return Ok(None) };
        let Some(status) = ProcessStatus::of(pid) else { return Ok(None) };
        // The number was this process's all the time if it still is.
        if process::pid_behind(&pidfd) != Some(pid) {
            return Ok(None);
        }
        if status.parent != Some(parent) {
            return Err(NotAChild::Stranger { pid });
        }
        if !status.numbers.contains(&number) {
            return Err(NotAChild::OtherNumber { pid, number });
        }
        Ok(Some(Self { pid, pidfd: Some(pidfd) }))
    }

    /// The number of the process for this process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether no other process can have its number yet: what was found out about that is about this one.
    #[must_use]
    pub fn has_number(&self) -> bool {
        self.pidfd.as_ref().is_none_or(|pidfd| process::pid_behind(pidfd) == Some(self.pid))
    }

    /// Sends it a signal; says whether it was there to get it.
    pub fn kill(&self, with: Signal) -> bool {
        match &self.pidfd {
            Some(pidfd) => pidfd_send_signal(pidfd, with).is_ok(),
            None => signal::kill_child(self.pid, with),
        }
    }

    /// Sends a signal to the process group that it leads, unless it was collected. For a process that adopts its
    /// children.
    pub fn kill_group(&self, with: Signal) -> bool {
        match &self.pidfd {
            // As long as it is not collected, no other process has its number.
            Some(pidfd) => {
                self.kill(with);
                process::pid_behind(pidfd) == Some(self.pid) && signal::kill_group(self.pid, with).is_ok()
            }
            None => signal::kill_child_group(self.pid, with),
        }
    }
}

/// Without a descriptor of the parent's, the number may be another process's by now: the result is nothing then.
fn by_number(parent: Pid, number: u32) -> Option<VerifiedChild> {
    let pid = i32::try_from(number).ok().and_then(Pid::from_raw)?;
    let pidfd = process::pidfd(pid).ok();
    (ProcessStatus::of(pid)?.parent == Some(parent)).then_some(VerifiedChild { pid, pidfd })
}

/// The kernel's status of a process.
struct ProcessStatus {
    parent: Option<Pid>,
    /// The process's number here, and in each namespace within this one that it is in.
    numbers: Vec<u32>,
}

impl ProcessStatus {
    fn of(pid: Pid) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
        let field = |name| text.lines().find_map(|line: &str| line.strip_prefix(name));
        let parent = field("PPid:")?.trim().parse().ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
        let numbers = field("NSpid:")?.split_ascii_whitespace().filter_map(|word| word.parse().ok());
        Some(Self { parent, numbers: numbers.collect() })
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use rustix::process::getpid;

    use super::*;

    fn sleeper() -> (Child, Pid) {
        let child = Command::new("sleep").arg("100").spawn().unwrap();
        let pid = Pid::from_child(&child);
        (child, pid)
    }

    fn find(parent: Pid, number: Pid, pidfd_of: Option<Pid>) -> Result<Option<Pid>, NotAChild> {
        let pidfd = pidfd_of.map(|pid| process::pidfd(pid).unwrap());
        let number = number.as_raw_nonzero().get().unsigned_abs();
        VerifiedChild::find(parent, number, false, pidfd).map(|child| child.map(|child| child.pid()))
    }

    #[test]
    fn a_child_is_found_and_ended() {
        let (mut child, pid) = sleeper();
        assert_eq!(find(getpid(), pid, Some(pid)), Ok(Some(pid)));
        assert_eq!(find(getpid(), pid, None), Ok(Some(pid)));
        let found = VerifiedChild::find(getpid(), child.id(), false, Some(process::pidfd(pid).unwrap()));
        let found = found.unwrap().unwrap();
        assert!(found.has_number());
        assert!(found.kill(Signal::KILL));
        child.wait().unwrap();
        assert!(!found.has_number());
        assert!(!found.kill(Signal::KILL) && !found.kill_group(Signal::KILL), "it was collected");
    }

    #[test]
    fn somebody_else_s_process_is_not() {
        let (mut child, pid) = sleeper();
        let own = getpid();
        assert_eq!(find(pid, own, Some(own)), Err(NotAChild::Stranger { pid: own }));
        assert_eq!(find(pid, own, None), Ok(None));
        assert_eq!(find(pid, pid, Some(pid)), Err(NotAChild::Stranger { pid }), "it is not its own child");
        let number = own.as_raw_nonzero().get().unsigned_abs();
        assert_eq!(find(own, own, Some(pid)), Err(NotAChild::OtherNumber { pid, number }));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn who_has_ended_is_nobody() {
        let (mut child, pid) = sleeper();
        let (number, pidfd) = (child.id(), process::pidfd(pid).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(matches!(VerifiedChild::find(getpid(), number, false, Some(pidfd)), Ok(None)));
        assert_eq!(find(getpid(), pid, None), Ok(None));
        assert!(matches!(VerifiedChild::find(getpid(), 0, false, None), Ok(None)));
        assert!(matches!(VerifiedChild::find(getpid(), u32::MAX, false, None), Ok(None)));
    }

    #[test]
    fn a_number_of_another_namespace_says_nothing_without_a_descriptor() {
        let (mut child, pid) = sleeper();
        assert!(matches!(VerifiedChild::find(getpid(), child.id(), true, None), Ok(None)));
        let pidfd = process::pidfd(pid).unwrap();
        assert!(matches!(VerifiedChild::find(getpid(), child.id(), true, Some(pidfd)), Ok(Some(_))));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
