//! `corral` as a command: run to its end, or kept running in the foreground.

use std::fs::{self, File};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::executables::executables;
use crate::processes::{Process, Signal, descendants, is_alive, signal};
use crate::site::readable_temp_dir;
use crate::wait::{PATIENCE, eventually, within};

/// How a command ended.
#[derive(Debug)]
pub struct RunOutcome {
    /// The exit status of the command.
    pub status: ExitStatus,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl RunOutcome {
    /// Fails unless the command succeeded.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        assert!(self.status.success(), "{self:#?}");
        self
    }

    /// Fails unless the command failed with a single line on standard error that holds all of `texts`.
    #[track_caller]
    pub fn expect_one_line(self, texts: &[&str]) {
        assert!(!self.status.success(), "{self:#?}");
        assert_eq!(self.stderr.trim_end().lines().count(), 1, "{self:#?}");
        for text in texts {
            assert!(self.stderr.contains(text), "{text:?} is not in {self:#?}");
        }
    }
}

/// `corral` in the foreground; ended when dropped.
#[derive(Debug)]
pub struct Run {
    child: Child,
    dir: TempDir,
}

impl Run {
    /// Runs a command to its end.
    #[track_caller]
    pub fn to_end(arguments: &[&str]) -> RunOutcome {
        Self::start(arguments).ended()
    }

    /// Waits until the command ends by itself.
    #[track_caller]
    pub fn ended(mut self) -> RunOutcome {
        let Some(status) = within(PATIENCE, || self.child.try_wait().expect("it is our child")) else {
            panic!("corral does not end\n{}{}", self.stdout(), self.stderr());
        };
        RunOutcome { status, stdout: self.stdout(), stderr: self.stderr() }
    }

    /// Starts a command.
    #[must_use]
    #[track_caller]
    pub fn start(arguments: &[&str]) -> Self {
        Self::spawn(Command::new(&executables().corral).args(arguments))
    }

    /// Starts a command that has a name, an environment or a folder of its own.
    #[must_use]
    #[track_caller]
    pub fn spawn(command: &mut Command) -> Self {
        let dir = readable_temp_dir();
        let create = |name: &str| File::create(dir.path().join(name)).expect("make the output file");
        let child = command
            .stdin(Stdio::null())
            .stdout(create("stdout"))
            .stderr(create("stderr"))
            .spawn()
            .expect("corral starts");
        Self { child, dir }
    }

    /// Standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        fs::read_to_string(self.dir.path().join("stdout")).expect("the output is text")
    }

    /// Standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        fs::read_to_string(self.dir.path().join("stderr")).expect("the output is text")
    }

    /// Waits until standard output or error holds `text`.
    #[track_caller]
    pub fn expect_output(&mut self, text: &str) {
        let found = within(PATIENCE, || {
            if (self.stdout() + &self.stderr()).contains(text) {
                return Some(true);
            }
            self.child.try_wait().expect("it is our child").map(|_| false)
        });
        assert_eq!(found, Some(true), "{text:?} did not appear\n{}{}", self.stdout(), self.stderr());
    }

    /// The process id of the command.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All processes that the command has started.
    #[must_use]
    pub fn processes(&self) -> Vec<Process> {
        descendants(self.child.id())
    }

    /// Sends Ctrl-C, waits for the end, and fails if a process is left.
    #[track_caller]
    pub fn interrupt(mut self) -> RunOutcome {
        let processes = self.processes();
        signal(self.child.id(), Signal::INT);
        let status = eventually("it ends after Ctrl-C", || self.child.try_wait().expect("it is our child"));
        eventually("no process is left", || {
            processes.iter().all(|process| !is_alive(process.pid)).then_some(())
        });
        RunOutcome { status, stdout: self.stdout(), stderr: self.stderr() }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_some()) {
            return;
        }
        let processes = descendants(self.child.id());
        signal(self.child.id(), Signal::TERM);
        if within(Duration::from_secs(10), || self.child.try_wait().ok().flatten()).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        for process in processes.iter().filter(|process| is_alive(process.pid)) {
            signal(process.pid, Signal::KILL);
        }
    }
}
