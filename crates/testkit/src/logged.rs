//! Another project's server as a child process, with its output in a file.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::processes::{Signal, signal};
use crate::wait::{PATIENCE, within};

/// How long it may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(20);

/// Ended when dropped, by its process id.
#[derive(Debug)]
pub(crate) struct Logged {
    child: Child,
    log: PathBuf,
}

impl Logged {
    /// Starts it; standard output and error go to the end of the file `log`.
    ///
    /// # Panics
    /// When there is no such program.
    #[track_caller]
    pub(crate) fn start(command: &mut Command, log: &Path) -> Self {
        let output = File::options().create(true).append(true).open(log).expect("make the log");
        command.stdin(Stdio::null()).stdout(output.try_clone().expect("duplicate the log")).stderr(output);
        // A file that this process has just written may be open in a child of another thread, up to its exec.
        let started = within(PATIENCE, || match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => None,
            started => Some(started),
        });
        let started = started.unwrap_or_else(|| Err(ErrorKind::ExecutableFileBusy.into()));
        let child = started.unwrap_or_else(|error| {
            panic!("{}: {error}: scripts/setup test", command.get_program().display())
        });
        Self { child, log: log.to_owned() }
    }

    /// Waits until it takes connections at this address.
    ///
    /// # Panics
    /// When it has ended, or does not within [`PATIENCE`].
    #[track_caller]
    pub(crate) fn await_port(&mut self, address: SocketAddr) {
        let ready = within(PATIENCE, || match self.child.try_wait() {
            Ok(Some(status)) => Some(Err(status)),
            _ => TcpStream::connect(address).is_ok().then_some(Ok(())),
        });
        match ready {
            Some(Ok(())) => {}
            Some(Err(status)) => panic!("it has ended: {status}\n{}", self.log()),
            None => panic!("nobody listens at {address}\n{}", self.log()),
        }
    }

    /// Waits until its log has this text.
    ///
    /// # Panics
    /// When it has ended, or does not within [`PATIENCE`].
    #[track_caller]
    pub(crate) fn await_line(&mut self, text: &str) {
        let ready = within(PATIENCE, || {
            let has_ended = !matches!(self.child.try_wait(), Ok(None));
            if self.log().contains(text) { Some(true) } else { has_ended.then_some(false) }
        });
        assert!(ready == Some(true), "it does not say {text:?}\n{}", self.log());
    }

    /// All that it has said, and those before it whose log is the same file.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        signal(self.child.id(), Signal::TERM);
        if within(GRACE, || self.child.try_wait().ok().flatten()).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
