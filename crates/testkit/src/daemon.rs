//! A real daemon in temporary folders, stopped when dropped.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::address::Address;
use crate::app::{PhpApp, PythonApp};
use crate::client::{Client, Request};
use crate::control::ControlClient;
use crate::executables::executables;
use crate::processes::{Process, Signal, descendants, is_alive, signal};
use crate::response::Response;
use crate::site::{readable_temp_dir, set_mode};
use crate::wait::{PATIENCE, eventually, within};

/// A user that no system has.
const UNPRIVILEGED: u32 = 47_001;

/// A daemon in the making.
#[derive(Debug)]
pub struct Builder {
    config: Value,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    uid: Option<u32>,
    executable: Option<PathBuf>,
    descriptors: Option<u32>,
    given: Vec<Given>,
    control: Option<PathBuf>,
    control_port: Option<Address>,
}

/// Starts with an empty configuration.
#[must_use]
pub fn daemon() -> Builder {
    Builder {
        config: json!({}),
        arguments: Vec::new(),
        environment: Vec::new(),
        uid: None,
        executable: None,
        descriptors: None,
        given: Vec::new(),
        control: None,
        control_port: None,
    }
}

impl Builder {
    /// The configuration. Without `listeners` it gets one at a fresh address, which passes to
    /// `routes` if there are any, to `routes/main` if they have names, else to the first application.
    #[must_use]
    pub fn config(mut self, config: Value) -> Self {
        self.config = config;
        self
    }

    /// Routes, as in the configuration.
    #[must_use]
    pub fn routes(mut self, routes: Value) -> Self {
        self.config["routes"] = routes;
        self
    }

    /// The application `php`.
    #[must_use]
    pub fn application(mut self, app: PhpApp) -> Self {
        self.config["applications"]["php"] = app.value;
        self
    }

    /// The application `python`.
    #[must_use]
    pub fn python(mut self, app: PythonApp) -> Self {
        self.config["applications"]["python"] = app.value;
        self
    }

    /// `settings.http`, as in the configuration.
    #[must_use]
    pub fn http(mut self, settings: Value) -> Self {
        self.config["settings"]["http"] = settings;
        self
    }

    /// A further command-line argument.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// An environment variable of the daemon.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Runs as a user without privileges. A test that is not run by root does so anyway.
    #[must_use]
    pub fn unprivileged(mut self) -> Self {
        self.uid = rustix::process::geteuid().is_root().then_some(UNPRIVILEGED);
        self
    }

    /// Runs this executable in place of the usual one.
    #[must_use]
    pub fn executable(mut self, path: &Path) -> Self {
        self.executable = Some(path.to_owned());
        self
    }

    /// With a hard limit of open descriptors; the soft one is half of it.
    #[must_use]
    pub fn descriptors(mut self, limit: u32) -> Self {
        self.descriptors = Some(limit);
        self
    }

    /// Gives it a socket that listens already, as a service manager does, under this name. There is room for two.
    #[must_use]
    pub fn given(mut self, name: &str, socket: impl Into<OwnedFd>) -> Self {
        assert!(self.given.len() < 2, "they travel as standard input and output");
        self.given.push(Given { name: name.to_owned(), socket: Arc::new(socket.into()) });
        self
    }

    /// Has the control API on a port, without a token.
    #[must_use]
    pub fn control_on_port(mut self) -> Self {
        self.control_port = Some(Address::fresh());
        self
    }

    /// Has the control API at this path.
    #[must_use]
    pub fn control_at(mut self, path: &Path) -> Self {
        self.control = Some(path.to_owned());
        self
    }

    /// Starts it and puts the configuration in force.
    #[must_use]
    #[track_caller]
    pub fn start(self) -> Daemon {
        let daemon = self.start_unconfigured();
        let config = daemon.with_listener(self.config);
        daemon.control().put("/config", &config).expect_done();
        daemon
    }

    /// Starts it without a configuration.
    #[must_use]
    #[track_caller]
    pub fn start_unconfigured(&self) -> Daemon {
        let dir = readable_temp_dir();
        for name in ["state", "tmp", "run"] {
            fs::create_dir(dir.path().join(name)).expect("make the folder");
        }
        // The router runs as another user and keeps its temporary files here.
        set_mode(&dir.path().join("tmp"), 0o777);
        if let Some(uid) = self.uid {
            for name in ["", "state", "run"] {
                chown(dir.path().join(name), Some(uid), Some(uid)).expect("root may do that");
            }
        }
        let mut daemon = Daemon {
            dir,
            address: Address::fresh(),
            child: None,
            successor: None,
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
            uid: self.uid,
            executable: self.executable.clone(),
            descriptors: self.descriptors,
            given: self.given.clone(),
            control: self.control.clone(),
            control_port: self.control_port,
        };
        daemon.launch();
        daemon
    }
}

/// A running daemon.
#[derive(Debug)]
pub struct Daemon {
    dir: TempDir,
    address: Address,
    child: Option<Child>,
    /// The main process that took over from `child`.
    successor: Option<u32>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    uid: Option<u32>,
    /// In place of the executable that tests use.
    executable: Option<PathBuf>,
    descriptors: Option<u32>,
    given: Vec<Given>,
    control: Option<PathBuf>,
    control_port: Option<Address>,
}

/// A socket that a service manager would give it.
#[derive(Debug, Clone)]
struct Given {
    name: String,
    socket: Arc<OwnedFd>,
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

    /// A request on a connection of its own.
    #[track_caller]
    pub fn send(&self, request: &Request) -> Response {
        self.connect().send(request)
    }

    /// The control API.
    #[must_use]
    pub fn control(&self) -> ControlClient {
        match self.control_port {
            Some(address) => ControlClient::at_port(address.socket()),
            None => ControlClient::new(&self.control_socket()),
        }
    }

    /// Where the control API listens, as the daemon and its tools take it.
    #[must_use]
    pub fn control_address(&self) -> String {
        match self.control_port {
            Some(address) => address.to_string(),
            None => format!("unix:{}", self.control_socket().display()),
        }
    }

    /// Where the control API listens.
    #[must_use]
    pub fn control_socket(&self) -> PathBuf {
        self.control.clone().unwrap_or_else(|| self.path("run/control.sock"))
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

    /// Waits until somebody else serves in place of the main process, and knows that one from then on.
    #[track_caller]
    pub fn adopt_successor(&mut self) {
        let old = self.pid();
        let new = within(PATIENCE, || self.pid_in_file().filter(|pid| *pid != old));
        self.successor = Some(new.unwrap_or_else(|| panic!("nobody took over\n{}", self.log())));
    }

    /// What the pid file says.
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

    fn launch(&mut self) {
        let output =
            File::options().create(true).append(true).open(self.path("output")).expect("open the output");
        let executable = self.executable.as_ref().unwrap_or(&executables().corral);
        let mut command = if self.given.is_empty() {
            self.limited(executable)
        } else {
            // The variable must hold the number of the process that takes the sockets.
            let mut command = Command::new("/bin/sh");
            let script = "exec 3<&0 4<&1 0</dev/null 1>&2; export LISTEN_PID=$$; exec \"$0\" \"$@\"";
            command.args(["-c", script]).arg(executable).env("LISTEN_FDS", self.given.len().to_string());
            let names: Vec<_> = self.given.iter().map(|given| given.name.as_str()).collect();
            command.env("LISTEN_FDNAMES", names.join(":"));
            command
        };
        command.args(["daemon", "--no-daemon", "--control"]).arg(self.control_address());
        for (option, name) in
            [("--statedir", "state"), ("--tmpdir", "tmp"), ("--pid", "run/pid"), ("--log", "log")]
        {
            command.arg(option).arg(self.path(name));
        }
        command.args(&self.arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(output.try_clone().expect("duplicate the output")).stderr(output);
        let mut sockets =
            self.given.iter().map(|given| given.socket.try_clone().expect("duplicate a socket"));
        if let Some(socket) = sockets.next() {
            command.stdin(socket);
        }
        if let Some(socket) = sockets.next() {
            command.stdout(socket);
        }
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        self.child = Some(command.spawn().expect("corral starts"));
        self.await_control_api();
    }

    /// The command that runs an executable with the limits that it is to have.
    fn limited(&self, executable: &Path) -> Command {
        let Some(limit) = self.descriptors else { return Command::new(executable) };
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
        if let Some(successor) = self.successor.filter(|pid| is_alive(*pid)) {
            let processes = descendants(successor);
            signal(successor, Signal::TERM);
            let _ = within(Duration::from_secs(10), || (!is_alive(successor)).then_some(()));
            for pid in
                processes.iter().map(|process| process.pid).chain([successor]).filter(|pid| is_alive(*pid))
            {
                signal(pid, Signal::KILL);
            }
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
