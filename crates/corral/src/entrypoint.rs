//! `corral entrypoint`: what the images of Unit do before their command (contract 26).
//!
//! A daemon without state is started once to be set up from `/docker-entrypoint.d`, and stopped
//! again; then this process becomes the command.

pub(crate) mod setup;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use corral_config::address::ListenAddress;
use corral_sys::signal::{self, Pid, Signal};

use crate::client::Daemon;
use crate::daemon;

pub(crate) fn command(arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    if let Some(plan) = SetupPlan::of(arguments)
        && plan.is_wanted()
    {
        plan.set_up(arguments)?;
    }
    let error = program(arguments).exec();
    Err(error).with_context(|| format!("run {}", arguments[0].display()))
}

/// How the daemon of the command is set up.
struct SetupPlan {
    control: ListenAddress,
    state: PathBuf,
    /// Files of the operator.
    source: PathBuf,
    has_config_files: bool,
}

impl SetupPlan {
    /// `None` when the command does not start a daemon.
    fn of(arguments: &[OsString]) -> Option<Self> {
        let name = Path::new(arguments.first()?).file_name()?.to_str()?;
        let (options, defaults) = match name {
            "unitd" | "unitd-debug" => (&arguments[1..], daemon::Flavour::unit()),
            "corral" if arguments.get(1)? == "daemon" => (&arguments[2..], daemon::Flavour::corral()),
            _ => return None,
        };
        let only_tells = |option: &OsString| option == "-h" || option == "--help" || option == "--version";
        if options.iter().any(only_tells) {
            return None;
        }
        let after =
            |option: &str| options.iter().position(|text| text == option).and_then(|at| options.get(at + 1));
        let control = after("--control").map_or(defaults.control.into(), |text| text.to_string_lossy());
        let state = after("--statedir").or(after("--state")).map_or(defaults.state_dir.into(), PathBuf::from);
        Some(Self {
            control: ListenAddress::parse(control.as_bytes())?,
            state: folder("CORRAL_ENTRYPOINT_STATE").unwrap_or(state),
            source: folder("CORRAL_ENTRYPOINT_DIR").unwrap_or_else(|| "/docker-entrypoint.d".into()),
            has_config_files: after("--config").is_some(),
        })
    }

    /// A daemon with state has been set up before; one with configuration files needs no setup.
    fn is_wanted(&self) -> bool {
        if self.has_config_files {
            say("the configuration comes from files, skipping initial configuration");
            return false;
        }
        let is_empty = fs::read_dir(&self.state).map_or(true, |mut entries| entries.next().is_none());
        if !is_empty {
            say(&format!("{} is not empty, skipping initial configuration", self.state.display()));
        }
        is_empty
    }

    fn set_up(&self, arguments: &[OsString]) -> anyhow::Result<()> {
        let files = setup::collect(&self.source)?;
        say("starting a daemon to perform initial configuration");
        let mut running = SetupDaemon::start(arguments)?;
        let control = Daemon::at(self.control.clone());
        running.wait_until_it_answers(&control)?;
        setup::apply(&control, &files, &mut say)?;
        if !files.any() {
            say(&format!("{} is empty or absent, creating the welcome configuration", self.source.display()));
            setup::welcome(&control)?;
        }
        running.stop()?;
        self.wait_for_the_socket_to_vanish()?;
        say("initial configuration complete; ready for start up");
        Ok(())
    }

    fn wait_for_the_socket_to_vanish(&self) -> anyhow::Result<()> {
        let ListenAddress::Unix(path) = &self.control else { return Ok(()) };
        let deadline = Instant::now() + LONGEST_WAIT;
        while path.exists() {
            if Instant::now() >= deadline {
                bail!("the control socket {} does not vanish", path.display());
            }
            std::thread::sleep(INTERVAL);
        }
        Ok(())
    }
}

/// Five tries of Unit's script, one second apart, and some patience more.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

const INTERVAL: Duration = Duration::from_millis(20);

fn folder(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn say(line: &str) {
    println!("corral entrypoint: {line}");
}

/// The daemon that is set up; ended when dropped.
struct SetupDaemon(Child);

impl SetupDaemon {
    fn start(arguments: &[OsString]) -> anyhow::Result<Self> {
        let mut command = program(arguments);
        if !arguments.iter().any(|argument| argument == "--no-daemon") {
            command.arg("--no-daemon");
        }
        let child = command.stdin(Stdio::null()).spawn();
        child.map(Self).with_context(|| format!("start {}", arguments[0].display()))
    }

    fn wait_until_it_answers(&mut self, control: &Daemon) -> anyhow::Result<()> {
        let deadline = Instant::now() + LONGEST_WAIT;
        while let Err(error) = control.get("/config") {
            if let Some(status) = self.0.try_wait()? {
                bail!("the daemon ended before it could be set up: {status}");
            }
            if Instant::now() >= deadline {
                return Err(error.context("the daemon does not answer"));
            }
            std::thread::sleep(INTERVAL);
        }
        Ok(())
    }

    fn stop(&mut self) -> anyhow::Result<()> {
        if self.0.try_wait()?.is_none() {
            let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw).context("it has a number")?;
            signal::kill(pid, Signal::TERM).context("stop the daemon")?;
            self.0.wait().context("wait for the daemon")?;
        }
        Ok(())
    }
}

impl Drop for SetupDaemon {
    fn drop(&mut self) {
        // What failed before is what the operator has to hear.
        let _ = self.stop();
    }
}

/// The command; this executable, if its name is one of ours and there is no program of that name.
fn program(arguments: &[OsString]) -> Command {
    let (name, rest) = arguments.split_first().expect("clap wants one argument");
    let is_ours = ["unitd", "unitd-debug", "corral"].iter().any(|ours| name == OsStr::new(ours));
    let mut command = match env::current_exe() {
        Ok(own) if is_ours && !is_in_path(name) => Command::new(own),
        _ => Command::new(name),
    };
    command.arg0(name).args(rest);
    command
}

fn is_in_path(name: &OsStr) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(name).is_file())
}
