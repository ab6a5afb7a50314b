//! The process of a daemon: how it is started, and its end with the test.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Daemon;
use crate::executables::executables;
use crate::processes::{Signal, descendants, end_stranger, is_alive, signal};
use crate::request::Request;
use crate::wait::{PATIENCE, within};

impl Daemon {
    pub(super) fn launch(&mut self) {
        let output =
            File::options().create(true).append(true).open(self.path("output")).expect("open the output");
        let executable = self.builder.executable.as_ref().unwrap_or(&executables().corral);
        let mut command = if self.builder.given.is_empty() {
            self.limited(executable)
        } else {
            // The variable must hold the number of the process that takes the sockets.
            let mut command = Command::new("/bin/sh");
            let script = "exec 3<&0 4<&1 0</dev/null 1>&2; export LISTEN_PID=$$; exec \"$0\" \"$@\"";
            command
                .args(["-c", script])
                .arg(executable)
                .env("LISTEN_FDS", self.builder.given.len().to_string());
            let names: Vec<_> = self.builder.given.iter().map(|given| given.name.as_str()).collect();
            command.env("LISTEN_FDNAMES", names.join(":"));
            command
        };
        command.args(["daemon", "--no-daemon", "--control"]).arg(self.control_address());
        for (option, name) in
            [("--statedir", "state"), ("--tmpdir", "tmp"), ("--pid", "run/pid"), ("--log", "log")]
        {
            command.arg(option).arg(self.path(name));
        }
        command
            .args(&self.builder.arguments)
            .envs(self.builder.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(output.try_clone().expect("duplicate the output")).stderr(output);
        let mut sockets =
            self.builder.given.iter().map(|given| given.socket.try_clone().expect("duplicate a socket"));
        if let Some(socket) = sockets.next() {
            command.stdin(socket);
        }
        if let Some(socket) = sockets.next() {
            command.stdout(socket);
        }
        if let Some(uid) = self.builder.uid {
            command.uid(uid).gid(uid);
        }
        self.child = Some(command.spawn().expect("corral starts"));
        self.await_control_api();
    }

    /// The command that runs an executable with the limits that it is to have.
    fn limited(&self, executable: &Path) -> Command {
        let Some(limit) = self.builder.descriptors else { return Command::new(executable) };
        let mut command = Command::new("/bin/sh");
        let script = format!("ulimit -Sn {} && ulimit -Hn {limit} && exec \"$@\"", limit / 2);
        command.args(["-c", &script, "sh"]).arg(executable);
        command
    }

    fn await_control_api(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while self.control().try_send(&Request::get("/config")).is_err() {
            let child = self.child.as_mut().expect("it was started");
            if let Some(status) = child.try_wait().expect("it is our child") {
                panic!("the daemon ended: {status}\n{}", self.log());
            }
            assert!(Instant::now() < deadline, "the control API does not answer\n{}", self.log());
            std::thread::sleep(Duration::from_millis(4));
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- log of the daemon\n{}---", self.log());
        }
        if let Some(successor) = self.successor {
            end_stranger(successor);
        }
        let Some(mut child) = self.child.take() else { return };
        let processes = descendants(child.id());
        signal(child.id(), Signal::TERM);
        if within(Duration::from_secs(10), || child.try_wait().ok().flatten()).is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        for process in processes.iter().filter(|process| is_alive(process.pid)) {
            signal(process.pid, Signal::KILL);
        }
    }
}
