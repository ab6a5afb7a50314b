//! The workers of a prototype by process id, and the ending of those that do not end by themselves.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use corral_ipc::message::{Exit, WorkerId};
use corral_sys::signal::{self, ChildChange, Pid, Signal};

use crate::log::complain;

/// Time between asking a worker to end at once and ending it. The interpreter uses it to leave
/// memory that it shares with others in order (opcache holds off signals while it writes there).
const PATIENCE: Duration = Duration::from_secs(1);

/// Time for a program to finish when no request for it is left; less than main gives a prototype for all.
const GRACE: Duration = Duration::from_secs(5);

/// A worker that a signal has stopped serves no request; a person who did that by mistake or from a terminal may have
/// it go on for this long.
const LONGEST_STOP: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct Child {
    worker: WorkerId,
    /// Whether it has been told to end.
    was_told: bool,
    /// When it is killed, if it has been told to end.
    deadline: Option<Instant>,
    /// When it is killed, if a signal has stopped it.
    stop_deadline: Option<Instant>,
}

/// The processes that a worker consists of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// One process. What it starts is its own affair.
    #[default]
    Process,
    /// The process group that it leads: a program, with what it has started.
    Group,
}

/// How a program is told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Termination {
    /// The signal.
    pub signal: Signal,
    /// The processes that get it. What is left of a group is killed in any case.
    pub scope: Scope,
    /// Time to the moment in which it is killed; `None` means that it is waited for.
    pub grace: Option<Duration>,
}

impl Default for Termination {
    fn default() -> Self {
        Self { signal: Signal::TERM, scope: Scope::default(), grace: Some(GRACE) }
    }
}

/// The workers that run.
#[derive(Debug, Default)]
pub struct Children {
    scope: Scope,
    termination: Termination,
    /// They take note of SIGTERM, and finish what they do.
    note_termination: bool,
    by_pid: HashMap<Pid, Child>,
}

impl Children {
    /// A set without children.
    #[must_use]
    pub fn new(scope: Scope) -> Self {
        let termination = Termination { scope, ..Termination::default() };
        Self { scope, termination, ..Self::default() }
    }

    /// The same, which are told to end like this.
    #[must_use]
    pub fn ending_by(self, termination: Termination) -> Self {
        Self { termination, ..self }
    }

    /// From now on they take note of SIGTERM. One that is to end at once would go on with what the signal has
    /// interrupted, so it is killed.
    pub(crate) fn take_note_of_termination(&mut self) {
        self.note_termination = true;
    }

    /// A worker that was started.
    pub fn add(&mut self, pid: Pid, worker: WorkerId) {
        self.by_pid.insert(pid, Child { worker, was_told: false, deadline: None, stop_deadline: None });
    }

    /// Whether none runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_pid.is_empty()
    }

    /// Collects those that have ended. Processes that are not workers (what a worker started and
    /// left behind) end without a word.
    pub(crate) fn reap(&mut self, now: Instant) -> Vec<(WorkerId, Exit)> {
        signal::changes().into_iter().filter_map(|(pid, change)| self.on_change(pid, change, now)).collect()
    }

    fn on_change(&mut self, pid: Pid, change: ChildChange, now: Instant) -> Option<(WorkerId, Exit)> {
        let exit = match change {
            ChildChange::Ended(ended) => Exit::from(ended),
            ChildChange::Stopped | ChildChange::Continued => {
                let child = self.by_pid.get_mut(&pid)?;
                child.stop_deadline = (change == ChildChange::Stopped).then_some(now + LONGEST_STOP);
                return None;
            }
        };
        let child = self.by_pid.remove(&pid)?;
        if self.scope == Scope::Group {
            // Processes that it has left behind. Its number is no other group's as long as any of them is left, and is
            // not given out again so soon.
            let _ = signal::kill_group(pid, Signal::KILL);
        }
        Some((child.worker, exit))
    }

    /// Tells one worker to end at once.
    pub fn end(&mut self, worker: WorkerId, now: Instant) {
        if self.note_termination {
            return self.kill(worker, now);
        }
        self.end_those(|child| child.worker == worker, Some(PATIENCE), now);
    }

    fn kill(&mut self, worker: WorkerId, now: Instant) {
        for (pid, child) in self.by_pid.iter_mut().filter(|(_, child)| child.worker == worker) {
            (child.was_told, child.deadline) = (true, Some(now + PATIENCE));
            // It may have ended already; then it is about to be collected.
            let _ = self.scope.signal(*pid, Signal::KILL);
        }
    }

    /// Tells one worker to end that gets no more requests.
    pub(crate) fn retire(&mut self, worker: WorkerId, now: Instant) {
        self.end_those(|child| child.worker == worker, self.termination.grace, now);
    }

    /// Tells all workers to end.
    pub(crate) fn end_all(&mut self, now: Instant) {
        let patience = if self.scope == Scope::Group { self.termination.grace } else { Some(PATIENCE) };
        self.end_those(|_| true, patience, now);
    }

    fn end_those(&mut self, is_it: impl Fn(&Child) -> bool, patience: Option<Duration>, now: Instant) {
        let deadline = patience.map(|patience| now + patience);
        for (pid, child) in self.by_pid.iter_mut().filter(|(_, child)| is_it(child)) {
            if !std::mem::replace(&mut child.was_told, true) {
                // It may have ended already; then it is about to be collected.
                let _ = self.termination.scope.signal(*pid, self.termination.signal);
            }
            child.deadline = child.deadline.into_iter().chain(deadline).min();
        }
    }

    /// Kills those whose time is over.
    pub(crate) fn kill_overdue(&mut self, now: Instant) {
        for (pid, child) in &mut self.by_pid {
            if child.stop_deadline.is_some_and(|deadline| deadline <= now) {
                let pid = pid.as_raw_nonzero();
                complain(format_args!(
                    "process {pid} was stopped by a signal and does not go on: killing it"
                ));
                child.stop_deadline = None;
                child.deadline = Some(now);
            }
            if child.deadline.is_some_and(|deadline| deadline <= now) {
                // It cannot refuse, but may be stuck in the kernel: ask again after a while.
                child.deadline = Some(now + PATIENCE);
                let _ = self.scope.signal(*pid, Signal::KILL);
            }
        }
    }

    /// Time until `kill_overdue` has something to do.
    pub(crate) fn next_deadline(&self, now: Instant) -> Option<Duration> {
        let deadlines =
            self.by_pid.values().flat_map(|child| [child.deadline, child.stop_deadline]).flatten();
        deadlines.min().map(|deadline| deadline.saturating_duration_since(now))
    }
}

impl Scope {
    fn signal(self, pid: Pid, signal: Signal) -> io::Result<()> {
        match self {
            Self::Process => signal::kill(pid, signal),
            Self::Group => signal::kill_group(pid, signal),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs::File;
    use std::os::fd::{AsFd, BorrowedFd};

    use corral_sys::spawn::{Executable, Program};

    use super::*;

    fn start(script: &str) -> Pid {
        let argv = ["sh", "-c", script].map(|argument| CString::new(argument).unwrap());
        let sh = File::open("/bin/sh").unwrap();
        let null = File::open("/dev/null").unwrap();
        let program = Program {
            executable: Executable::Open(sh.as_fd()),
            argv: &argv,
            environment: &[],
            pid_variable: None,
            working_directory: None,
            credentials: None,
            no_new_privileges: false,
            wall: None,
            isolation: None,
            controlling_terminal: false,
            fds: &[(null.as_fd(), 0)],
        };
        program.spawn().unwrap()
    }

    fn reap_one(children: &mut Children) -> (WorkerId, Exit) {
        loop {
            if let Some(ended) = children.reap(Instant::now()).pop() {
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

        stopped_workers_are_killed_unless_they_go_on(&mut children, now);
        a_program_takes_what_it_has_started_along(now);
    }

    fn a_program_takes_what_it_has_started_along(now: Instant) {
        let mut children = Children::new(Scope::Group);
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        // What it leaves behind holds the pipe open.
        let script = "trap '' TERM; (while true; do read x || :; done) & echo >&5; exit 3";
        children.add(start_with(script, writer.as_fd()), WorkerId(5));
        drop(writer);
        assert_eq!(reap_one(&mut children), (WorkerId(5), Exit::Code(3)));
        rustix::io::read(&reader, &mut [0; 1]).unwrap();
        assert_eq!(rustix::io::read(&reader, &mut [0; 1]).unwrap(), 0, "nothing of it runs");
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        children.add(start_with("(while true; do read x || :; done) & wait", writer.as_fd()), WorkerId(6));
        drop(writer);
        children.retire(WorkerId(6), now);
        assert_eq!(children.next_deadline(now), Some(GRACE));
        children.end(WorkerId(6), now);
        assert_eq!(children.next_deadline(now), Some(PATIENCE), "it is to end sooner");
        assert_eq!(reap_one(&mut children), (WorkerId(6), Exit::Signal(15)));
        assert_eq!(rustix::io::read(&reader, &mut [0; 1]).unwrap(), 0, "all of it was told");
    }

    fn stopped_workers_are_killed_unless_they_go_on(children: &mut Children, now: Instant) {
        let pid = start("while true; do read x || :; done");
        children.add(pid, WorkerId(4));
        let mut expect = |change, signal, deadline| {
            signal::kill(pid, signal).unwrap();
            while children.next_deadline(now) != deadline {
                assert!(children.reap(now).is_empty(), "{change}");
                std::thread::yield_now();
            }
        };
        expect("stopped", Signal::STOP, Some(LONGEST_STOP));
        expect("continued", Signal::CONT, None);
        expect("stopped again", Signal::STOP, Some(LONGEST_STOP));
        children.kill_overdue(now + LONGEST_STOP / 2);
        assert_eq!(children.next_deadline(now), Some(LONGEST_STOP));
        children.kill_overdue(now + LONGEST_STOP);
        assert_eq!(reap_one(children), (WorkerId(4), Exit::Signal(9)));
    }

    fn start_deaf(ready: BorrowedFd<'_>) -> Pid {
        start_with("trap '' TERM; echo >&5; while true; do :; done", ready)
    }

    /// Starts a script with something as its descriptor 5.
    fn start_with(script: &str, fifth: BorrowedFd<'_>) -> Pid {
        let argv = ["sh", "-c", script].map(|argument| CString::new(argument).unwrap());
        let sh = File::open("/bin/sh").unwrap();
        let program = Program {
            executable: Executable::Open(sh.as_fd()),
            argv: &argv,
            environment: &[],
            pid_variable: None,
            working_directory: None,
            credentials: None,
            no_new_privileges: false,
            wall: None,
            isolation: None,
            controlling_terminal: false,
            fds: &[(fifth, 5)],
        };
        program.spawn().unwrap()
    }
}
