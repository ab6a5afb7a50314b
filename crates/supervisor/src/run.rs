//! From options to a running main process, and the tidying up behind it.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use corral_ipc::message::DevMode;
use corral_sys::process;
use corral_sys::signal::{Signal, SignalFd};
use corral_sys::user::{self, Credentials};

use crate::audience::{self, Audience};
use crate::background::{self, DetachSide, Starter};
use crate::control::OwnControlSocket;
use crate::files::Files;
use crate::given::GivenSockets;
use crate::inheritance::Inheritance;
use crate::launch::Launcher;
use crate::log_file::{self, LogFile};
use crate::modules;
use crate::options::{ConsoleOptions, ControlOptions, DaemonOptions, ModuleSource};
use crate::pid_file::PidFile;
use crate::predecessor::Predecessor;
use crate::programs::{Programs, RouterOptions};
use crate::store::Store;
use crate::stored::Stored;
use crate::supervisor::{DaemonParts, Supervisor};
use crate::temp_dir;
use crate::terminal::Terminal;
use crate::users::Users;

/// Runs the daemon until it is told to stop. Must be called by a process with one thread.
///
/// In the background mode the process that calls returns as soon as the daemon serves.
///
/// # Errors
/// When it cannot start: each error names the file, address or user, and why.
pub fn run(options: DaemonOptions) -> anyhow::Result<ExitCode> {
    let mut predecessor = Predecessor::meet()?;
    let found = find(&options, predecessor.as_mut()).inspect_err(|error| {
        if let Some(predecessor) = &predecessor {
            predecessor.failed(&format!("{error:#}"));
        }
    });
    let OpenedOptions { log, users, temp_dir, store, given, control } = found?;
    let options = DaemonOptions { temp_dir, ..options };
    let mut outset = Outset { users, store, control, given, log: None, starter: None, predecessor };
    if options.foreground || outset.predecessor.is_some() {
        let mut log = log;
        if let Some((log, Some(_))) = log.as_mut().filter(|_| options.foreground) {
            log.keep_origin();
        }
        if outset.predecessor.is_none() {
            introduce(&options, std::process::id(), log.as_ref().map(|(log, _)| log));
        }
        redirect_to(log.as_ref())?;
        outset.log = log.map(|(log, _)| log);
        return supervise(options, outset);
    }
    match background::enter().context("go to the background")? {
        DetachSide::Foreground(daemon) => {
            // The daemon has the socket now, and removes its file.
            outset.control.inspect(|control| control.file().set_ours(false));
            let Some(daemon) = daemon else { return Ok(ExitCode::FAILURE) };
            let pid = daemon.as_raw_nonzero().get().unsigned_abs();
            introduce(&options, pid, log.as_ref().map(|(log, _)| log));
            Ok(ExitCode::SUCCESS)
        }
        DetachSide::Background(starter) => {
            redirect_to(log.as_ref())?;
            outset.log = log.map(|(log, _)| log);
            outset.starter = Some(starter);
            supervise(options, outset)
        }
    }
}

/// Tells a person at a terminal what was started, and where to look for more.
fn introduce(options: &DaemonOptions, pid: u32, log: Option<&LogFile>) {
    if !options.introduces || !std::io::stdout().is_terminal() {
        return;
    }
    let log = log.and_then(LogFile::path).unwrap_or_else(|| "standard error".to_owned());
    audience::say(&format!("corral daemon: process {pid}, control {}, log {log}", options.control.address));
}

/// The things that the options name.
struct OpenedOptions {
    log: Option<(LogFile, Option<std::fs::File>)>,
    users: Option<Users>,
    temp_dir: PathBuf,
    store: Option<Store>,
    given: GivenSockets,
    control: Option<OwnControlSocket>,
}

fn find(options: &DaemonOptions, predecessor: Option<&mut Predecessor>) -> anyhow::Result<OpenedOptions> {
    let log = options.log.clone().map(LogFile::open).transpose()?;
    let users = users(options)?;
    let temp_dir = temp_dir::find(&options.temp_dir, users.as_ref())?;
    let store = open_store(options)?;
    let mut predecessor = predecessor;
    let mut given = match &mut predecessor {
        Some(predecessor) => std::mem::take(&mut predecessor.given),
        None => GivenSockets::take()?,
    };
    let control = control_socket(&options.control, &mut given, predecessor)?;
    Ok(OpenedOptions { log, users, temp_dir, store, given, control })
}

/// The socket of a service manager, that of the process before this one, or a new one: a socket file comes later.
fn control_socket(
    options: &ControlOptions,
    given: &mut GivenSockets,
    predecessor: Option<&mut Predecessor>,
) -> anyhow::Result<Option<OwnControlSocket>> {
    if let Some((address, socket)) = given.take_control(&options.address) {
        return OwnControlSocket::given(address, socket, options).map(Some);
    }
    let handed_over = predecessor.and_then(|predecessor| predecessor.control.take());
    match handed_over.filter(|(address, _)| *address == options.address) {
        Some((address, socket)) => Ok(Some(OwnControlSocket::handed_over(address, socket))),
        None => OwnControlSocket::reserve(options),
    }
}

fn redirect_to(log: Option<&(LogFile, Option<std::fs::File>)>) -> anyhow::Result<()> {
    log.and_then(|(_, file)| file.as_ref()).map_or(Ok(()), log_file::redirect)
}

/// The things that there are before anything is started.
struct Outset {
    users: Option<Users>,
    store: Option<Store>,
    /// Nothing for a socket file, which is made after the pid file: a client that sees it finds the process.
    control: Option<OwnControlSocket>,
    given: GivenSockets,
    log: Option<LogFile>,
    starter: Option<Starter>,
    predecessor: Option<Predecessor>,
}

/// Starts everything and stays until the end. What the starter waits for is told here.
fn supervise(options: DaemonOptions, outset: Outset) -> anyhow::Result<ExitCode> {
    let Outset { users, store, control, given, log, starter, mut predecessor } = outset;
    let prepared = prepare(&options, users, predecessor.as_mut(), control);
    let (launcher, signals, pid_file, modules, control) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            if let Some(starter) = starter {
                starter.failed(&format!("{error:#}"));
            }
            if let Some(predecessor) = predecessor {
                predecessor.failed(&format!("{error:#}"));
            }
            return Err(error);
        }
    };
    let terminal = if options.foreground {
        Terminal::of_this_process(options.console.is_some())
    } else {
        Terminal::None
    };
    let console = options.console;
    let dev_mode = console.as_ref().map(dev_mode).unwrap_or_default();
    let shows_requests = console.as_ref().is_some_and(|console| console.shows_requests);
    let shown = shows_requests.then(|| corral_ipc::message::Console { colours: shows_colours() });
    let router = RouterOptions { temp_dir: options.temp_dir, console: shown, dev_mode };
    let supervisor = Supervisor::new(DaemonParts {
        signals,
        programs: Programs { launcher, modules, own_files: options.own_files, router },
        inheritance: Inheritance::new(control, given, pid_file, predecessor),
        stored: Stored::read(store, console.as_ref().map(|console| console.document.clone())),
        files: Files::new(options.files),
        audience: Audience::new(starter, console, terminal, log),
        token: options.control.token,
        read_token: options.control.read_token,
    });
    supervisor.run()
}

/// Whether colours are seen on standard output.
fn shows_colours() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

fn dev_mode(console: &ConsoleOptions) -> DevMode {
    DevMode { watches: !console.watch.is_empty(), explains: console.explains }
}

type Prepared = (Launcher, SignalFd, Option<PidFile>, Vec<corral_ipc::message::Module>, OwnControlSocket);

fn prepare(
    options: &DaemonOptions,
    users: Option<Users>,
    predecessor: Option<&mut Predecessor>,
    control: Option<OwnControlSocket>,
) -> anyhow::Result<Prepared> {
    let signals = SignalFd::new(&SIGNALS).context("take over signals")?;
    process::become_subreaper().context("become the parent of orphans")?;
    if let Err(error) = process::raise_descriptor_limit() {
        tracing::warn!("raise the limit of open descriptors: {error}");
    }
    if users.is_none() && options.console.is_none() {
        tracing::warn!(
            "not started as root: everything runs as the user who started it, and applications cannot have \
             users of their own"
        );
    }
    let credentials = users.as_ref().map(|users| users.daemon.credentials.clone());
    let launcher = Launcher::new(users, options.internal_arguments.clone());
    let launcher = launcher.context("prepare to start processes")?;
    let modules = find_modules(&options.modules, credentials.as_ref());
    let pid_file = match predecessor {
        Some(predecessor) => {
            predecessor.pid_file.clone_from(&options.pid_file);
            None
        }
        None => write_pid_file(options)?,
    };
    let control = control.map_or_else(|| OwnControlSocket::bind(&options.control), Ok)?;
    // Without a title `ps` shows the command, which is right as well.
    let _ = process::set_title(&options.title);
    Ok((launcher, signals, pid_file, modules, control))
}

/// A configuration that comes from files needs no state directory: what cannot be used is left out.
fn open_store(options: &DaemonOptions) -> anyhow::Result<Option<Store>> {
    match options.state_dir.clone().map(Store::open).transpose() {
        Err(error) if options.files.is_some() => {
            tracing::info!(target: "notice", "nothing is stored: {:#}", anyhow::Error::new(error));
            Ok(None)
        }
        opened => Ok(opened?),
    }
}

/// As for the state directory.
fn write_pid_file(options: &DaemonOptions) -> anyhow::Result<Option<PidFile>> {
    match options.pid_file.clone().map(PidFile::write).transpose() {
        Err(error) if options.files.is_some() => {
            tracing::info!(target: "notice", "no file holds the process id: {error:#}");
            Ok(None)
        }
        written => written,
    }
}

const SIGNALS: [Signal; 7] =
    [Signal::TERM, Signal::INT, Signal::QUIT, Signal::USR1, Signal::USR2, Signal::HUP, Signal::CHILD];

fn find_modules(source: &ModuleSource, user: Option<&Credentials>) -> Vec<corral_ipc::message::Module> {
    let folder = match source {
        ModuleSource::Known(modules) => return modules.clone(),
        ModuleSource::Folder(folder) => folder,
    };
    let found = modules::detect(folder, user).unwrap_or_else(|error| {
        tracing::error!("{error:#}");
        modules::FoundModules::default()
    });
    for problem in found.problems {
        tracing::warn!("{problem}");
    }
    for module in &found.modules {
        let (language, version) = (&module.language, &module.version);
        tracing::info!(target: "notice", "module: {language} {version} \"{}\"", module.path.display());
    }
    found.modules
}

/// The users that processes run as, if this process may change users.
fn users(options: &DaemonOptions) -> anyhow::Result<Option<Users>> {
    if user::can_change_user() {
        return Ok(Some(Users::of(&options.users)?));
    }
    if options.users.daemon.is_some() || options.users.daemon_group.is_some() {
        tracing::warn!("not started as root: \"--user\" and \"--group\" have no effect");
    }
    Ok(None)
}
