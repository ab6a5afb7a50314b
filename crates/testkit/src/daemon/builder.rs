//! A daemon in the making: its configuration, its command, and what it is given.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::Daemon;
use crate::address::Address;
use crate::app::{PhpApp, PythonApp};
use crate::site::{readable_temp_dir, set_mode};

/// A user that no system has.
const UNPRIVILEGED: u32 = 47_001;

/// A daemon in the making.
#[derive(Debug, Clone)]
pub struct Builder {
    config: Value,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) uid: Option<u32>,
    pub(super) executable: Option<PathBuf>,
    pub(super) descriptors: Option<u32>,
    pub(super) given: Vec<Given>,
    pub(super) control: Option<PathBuf>,
    pub(super) control_port: Option<Address>,
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
        let (address, builder) = (Address::fresh(), self.clone());
        let mut daemon = Daemon { dir, address, child: None, successor: None, builder };
        daemon.launch();
        daemon
    }
}

/// A socket that a service manager would give it.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) name: String,
    pub(super) socket: Arc<OwnedFd>,
}
