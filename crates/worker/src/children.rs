//! The workers of a prototype by process id, and the ending of those that do not end by themselves.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use corral_ipc::message::{Exit, WorkerId};
use corral_sys::signal::{self, Ended, Pid, Signal};

/// Time between asking a worker to end at once and ending it. The interpreter uses it to leave
/// memory that it shares with others in order (opcache holds off signals while it writes there).
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Child {
    worker: WorkerId,
    /// When it is killed, if it has been told to end.
    deadline: Option<Instant>,
}

/// The workers that run.
#[derive(Debug, Default)]
pub(crate) struct Children {
    by_pid: HashMap<Pid, Child>,
}

impl Children {
    pub(crate) fn add(&mut self, pid: Pid, worker: WorkerId) {
        self.by_pid.insert(pid, Child { worker, deadline: None });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_pid.is_empty()
    }

    /// Collects those that have ended. Processes that are not workers (what a worker started and
    /// left behind) end without a word.
    pub(crate) fn reap(&mut self) -> Vec<(WorkerId, Exit)> {
        let ended = signal::reap();
        let workers = ended.into_iter().filter_map(|(pid, ended)| {
            let child = self.by_pid.remove(&pid)?;
            let exit = match ended {
                Ended::Code(code) => Exit::Code(code),
                Ended::Signal(number) => Exit::Signal(number),
            };
            Some((child.worker, exit))
        });
        workers.collect()
    }

    /// Tells one worker to end at once.
    pub(crate) fn end(&mut self, worker: WorkerId, now: Instant) {
        let child = self.by_pid.iter_mut().find(|(_, child)| child.worker == worker);
        if let Some((pid, child)) = child {
            child.end(*pid, now);
        }
    }

    /// Tells all workers to end at once.
    pub(crate) fn end_all(&mut self, now: Instant) {
        for (pid, child) in &mut self.by_pid {
            child.end(*pid, now);
        }
    }

    /// Kills those whose time is over.
    pub(crate) fn kill_overdue(&mut self, now: Instant) {
        for (pid, child) in &mut self.by_pid {
            if child.deadline.is_some_and(|deadline| deadline <= now) {
                // It cannot refuse, but may be stuck in the kernel: ask again after a while.
                child.deadline = Some(now + PATIENCE);
                let _ = signal::kill(*pid, Signal::KILL);
            }
        }
    }

    /// Time until `kill_overdue` has something to do.
    pub(crate) fn next_deadline(&self, now: Instant) -> Option<Duration> {
        let deadlines = self.by_pid.values().filter_map(|child| child.deadline);
        deadlines.min().map(|deadline| deadline.saturating_duration_since(now))
    }
}

impl Child {
    fn end(&mut self, pid: Pid, now: Instant) {
        if self.deadline.is_none() {
            self.deadline = Some(now + PATIENCE);
            // It may have ended already; then it is about to be collected.
            let _ = signal::kill(pid, Signal::TERM);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs::File;
    use std::os::fd::AsFd;

    use corral_sys::spawn::Program;

    use super::*;

    fn start(script: &str) -> Pid {
        let argv = ["sh", "-c", script].map(|argument| CString::new(argument).unwrap());
        let sh = File::open("/bin/sh").unwrap();
        let null = File::open("/dev/null").unwrap();
        let program = Program {
            executable: sh.as_fd(),
            argv: &argv,
            environment: &[],
            working_directory: None,
            credentials: None,
            no_new_privileges: false,
            isolation: None,
            fds: &[(null.as_fd(), 0)],
        };
        program.spawn().unwrap()
    }

    fn reap_one(children: &mut Children) -> (WorkerId, Exit) {
        loop {
            if let Some(ended) = children.reap().pop() {
                return ended;
            }
            std::thread::yield_now();
        }
    }

    /// One test for all: `reap` collects every child of the process.
    #[test]
    fn workers_end_by_themselves_when_told_or_by_force() {
        let now = Instant::now();
        let mut children = Children::default();
        children.add(start("exit 7"), WorkerId(1));
        assert_eq!(reap_one(&mut children), (WorkerId(1), Exit::Code(7)));
        assert!(children.is_empty());

        children.add(start("while true; do read x || :; done"), WorkerId(2));
        children.end(WorkerId(1), now);
        assert_eq!(children.next_deadline(now), None);
        children.end(WorkerId(2), now);
        assert_eq!(children.next_deadline(now), Some(PATIENCE));
        assert_eq!(reap_one(&mut children), (WorkerId(2), Exit::Signal(15)));

        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let deaf = start_deaf(writer.as_fd());
        drop(writer);
        assert_eq!(rustix::io::read(&reader, &mut [0; 1]).unwrap(), 1, "it ignores TERM from now on");
        children.add(deaf, WorkerId(3));
        children.end_all(now);
        children.kill_overdue(now + PATIENCE / 2);
        children.end_all(now + PATIENCE / 2);
        assert_eq!(children.next_deadline(now), Some(PATIENCE), "the first deadline stays");
        children.kill_overdue(now + PATIENCE);
        assert_eq!(reap_one(&mut children), (WorkerId(3), Exit::Signal(9)));
    }

    fn start_deaf(ready: std::os::fd::BorrowedFd<'_>) -> Pid {
        let script = "trap '' TERM; echo >&5; while true; do :; done";
        let argv = ["sh", "-c", script].map(|argument| CString::new(argument).unwrap());
        let sh = File::open("/bin/sh").unwrap();
        let program = Program {
            executable: sh.as_fd(),
            argv: &argv,
            environment: &[],
            working_directory: None,
            credentials: None,
            no_new_privileges: false,
            isolation: None,
            fds: &[(ready, 5)],
        };
        program.spawn().unwrap()
    }
}
