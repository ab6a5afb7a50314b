//! A real daemon in temporary folders, stopped when dropped.

mod builder;
mod process;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};

use serde_json::{Value, json};
use tempfile::TempDir;

pub use self::builder::{Builder, daemon};
use crate::address::Address;
use crate::client::Client;
use crate::control::ControlClient;
use crate::processes::{Process, Signal, descendants, held, is_alive, signal};
use crate::request::Request;
use crate::response::Response;
use crate::wait::{PATIENCE, eventually, within};

/// A running daemon.
#[derive(Debug)]
pub struct Daemon {
    dir: TempDir,
    address: Address,
    child: Option<Child>,
    /// The main process that took over from `child`.
    successor: Option<u32>,
    /// How it is started.
    builder: Builder,
}

impl Daemon {
    /// The address of the listener that was added.
    #[must_use]
    pub fn address(&self) -> Address {
        self.address
    }

    /// A new connection to it.
    #[must_use]
    #[track_caller]
    pub fn connect(&self) -> Client {
        Client::connect(self.address.socket())
    }

    /// A GET on a connection of its own.
    #[track_caller]
    pub fn get(&self, target: &str) -> Response {
        self.connect().get(target)
    }

    /// A file whose tag is strong, which it is a moment after the last change: two changes may have the same time.
    #[track_caller]
    pub fn get_settled(&self, target: &str) -> Response {
        eventually("the file has a strong tag", || {
            let reply = self.get(target);
            reply.field("ETag").is_some_and(|tag| tag.starts_with('"')).then_some(reply)
        })
    }

    /// A request on a connection of its own.
    #[track_caller]
    pub fn send(&self, request: &Request) -> Response {
        self.connect().send(request)
    }

    /// The control API.
    #[must_use]
    pub fn control(&self) -> ControlClient {
        match self.builder.control_port {
            Some(address) => ControlClient::at_port(address.socket()),
            None => ControlClient::new(&self.control_socket()),
        }
    }

    /// Where the control API listens, as the daemon and its tools take it.
    #[must_use]
    pub fn control_address(&self) -> String {
        match self.builder.control_port {
            Some(address) => address.to_string(),
            None => format!("unix:{}", self.control_socket().display()),
        }
    }

    /// Where the control API listens.
    #[must_use]
    pub fn control_socket(&self) -> PathBuf {
        self.builder.control.clone().unwrap_or_else(|| self.path("run/control.sock"))
    }

    /// A path in the daemon's folder: `log`, `state/…`, `tmp/…`, `run/…`.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The log so far, with what went to standard output and error.
    #[must_use]
    pub fn log(&self) -> String {
        let read = |name: &str| fs::read(self.path(name)).unwrap_or_default();
        let text = [read("log"), read("output")].concat();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Waits until the log holds `text`.
    #[track_caller]
    pub fn expect_log(&self, text: &str) {
        if within(PATIENCE, || self.log().contains(text).then_some(())).is_none() {
            panic!("{text:?} did not appear in the log:\n{}", self.log());
        }
    }

    /// The main process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.successor.unwrap_or_else(|| self.child.as_ref().expect("it runs").id())
    }

    /// All its processes but main.
    #[must_use]
    pub fn processes(&self) -> Vec<Process> {
        descendants(self.pid())
    }

    /// Everything that one of its processes shares with others of them, at descriptor `first` or above. Only root sees
    /// all.
    #[must_use]
    pub fn shared_with(&self, pid: u32, first: u32) -> Vec<String> {
        let all = self.processes().into_iter().map(|process| process.pid).chain([self.pid()]);
        let others: Vec<_> = all.filter(|other| *other != pid).flat_map(|other| held(other, 0)).collect();
        assert!(!others.is_empty(), "the daemon has sockets");
        held(pid, first).into_iter().filter(|name| others.contains(name)).collect()
    }

    /// The processes with this short name, as in `router` or `"php" worker`.
    #[must_use]
    pub fn named(&self, name: &str) -> Vec<u32> {
        let short: String = name.chars().take(15).collect();
        let mut pids: Vec<u32> = self
            .processes()
            .into_iter()
            .filter(|process| process.name == short)
            .map(|process| process.pid)
            .collect();
        pids.sort_unstable();
        pids
    }

    /// Waits until there are `n` processes with this name.
    #[track_caller]
    pub fn expect_processes(&self, name: &str, n: usize) -> Vec<u32> {
        let found = within(PATIENCE, || Some(self.named(name)).filter(|pids| pids.len() == n));
        found.unwrap_or_else(|| panic!("not {n} of {name:?} in {:?}\n{}", self.processes(), self.log()))
    }

    /// Kills a process of this daemon and waits until it is gone.
    #[track_caller]
    pub fn kill(&self, pid: u32) {
        assert!(
            self.processes().iter().any(|process| process.pid == pid),
            "{pid} is not a process of the daemon"
        );
        signal(pid, Signal::KILL);
        eventually("the killed process is gone", || (!is_alive(pid)).then_some(()));
    }

    /// Has a new main process take over and waits until it serves. Returns the old one, which may still be
    /// finishing.
    #[track_caller]
    pub fn upgrade(&mut self) -> u32 {
        let old = self.pid();
        assert_eq!(self.pid_in_file(), Some(old));
        signal(old, Signal::USR2);
        self.adopt_successor();
        old
    }

    /// Waits until a successor serves in place of the main process, and uses that from then on.
    #[track_caller]
    pub fn adopt_successor(&mut self) {
        let old = self.pid();
        let new = within(PATIENCE, || self.pid_in_file().filter(|pid| *pid != old));
        self.successor = Some(new.unwrap_or_else(|| panic!("nobody took over\n{}", self.log())));
    }

    /// The process id in the pid file, if there is one.
    #[must_use]
    pub fn pid_in_file(&self) -> Option<u32> {
        fs::read_to_string(self.path("run/pid")).ok()?.trim().parse().ok()
    }

    /// Asks it to stop, waits for the end, and fails if a process of it is left.
    #[track_caller]
    pub fn stop(&mut self) -> ExitStatus {
        let processes = self.processes();
        signal(self.pid(), Signal::TERM);
        let status = self.wait_for_end();
        let left = within(PATIENCE, || {
            let left: Vec<_> = processes.iter().filter(|process| is_alive(process.pid)).collect();
            left.is_empty().then_some(())
        });
        assert!(left.is_some(), "processes are left\n{}", self.log());
        status
    }

    /// Waits for the main process.
    #[track_caller]
    pub fn wait_for_end(&mut self) -> ExitStatus {
        let log = self.dir.path().join("log");
        let child = self.child.as_mut().expect("it runs");
        let ended = within(PATIENCE, || child.try_wait().expect("it is our child"));
        let Some(status) = ended else {
            panic!("the daemon does not end\n{}", fs::read_to_string(log).unwrap_or_default());
        };
        self.child = None;
        status
    }

    /// Starts it again after [`Self::stop`], on the same state.
    #[track_caller]
    pub fn restart(&mut self) {
        assert!(self.child.is_none(), "it runs already");
        self.launch();
    }

    /// Adds a listener at the daemon's address to a configuration without listeners.
    #[must_use]
    pub fn with_listener(&self, mut config: Value) -> Value {
        if config.get("listeners").is_some() {
            return config;
        }
        let first_app = config["applications"].as_object().and_then(|apps| apps.keys().next());
        let pass = match (config.get("routes"), first_app) {
            (Some(Value::Object(_)), _) => "routes/main".to_owned(),
            (None, Some(app)) => format!("applications/{app}"),
            _ => "routes".to_owned(),
        };
        config["listeners"] = json!({ self.address.to_string(): { "pass": pass } });
        config
    }
}
