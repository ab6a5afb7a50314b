//! The command of a program: its executable, its arguments and its environment.

use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use corral_config::plan::{CommandLine, HttpSpec, ProgramKind, ProgramSocket};
use corral_sys::signal::Pid;
use corral_sys::spawn::{Executable, Program};
use rustix::fs::Access;

use crate::endpoint::ProgramEndpoint;
use crate::java;

/// A program that can be run any number of times.
#[derive(Debug)]
pub(crate) struct ProgramCommand {
    path: CString,
    /// This server's own executable, if the program is a part of it.
    own: Option<File>,
    arguments: Vec<CString>,
    /// But for what differs from one process to the next.
    environment: Vec<(OsString, OsString)>,
    socket: ProgramSocket,
    null: File,
}

/// Environment variables of service managers (`sd_listen_fds`, `sd_notify`), which programs do not inherit.
const LISTEN: [&str; 4] = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET"];

/// This executable, whatever its path is.
const OWN: &str = "/proc/self/exe";

/// The name of the descriptor.
const DESCRIPTOR_NAME: &str = "http";

impl ProgramCommand {
    /// Finds the program. `module` is what it needs of Corral, if it does.
    pub(crate) fn new(http: &HttpSpec, module: &Path) -> anyhow::Result<Self> {
        let (path, arguments) = match &http.kind {
            ProgramKind::Server | ProgramKind::External | ProgramKind::FastCgi(_) => (
                find(&http.executable, http.executable_path())?,
                http.arguments.iter().map(OsString::from).collect(),
            ),
            ProgramKind::Cgi(_) => (OWN.into(), ["internal", "cgi"].map(OsString::from).into()),
            ProgramKind::Java(java) => (java::find()?, java::arguments(java, module, http.concurrency)?),
        };
        let is_own = matches!(http.kind, ProgramKind::Cgi(_));
        let own = is_own.then(|| File::open(OWN)).transpose().with_context(|| format!("open {OWN}"))?;
        Ok(Self { own, socket: http.socket.clone(), ..Self::of(path, &http.executable, arguments)? })
    }

    /// Finds a program that serves nothing.
    pub(crate) fn alone(command: &CommandLine) -> anyhow::Result<Self> {
        let path = find(&command.executable, command.executable_path())?;
        Self::of(path, &command.executable, command.arguments.iter().map(OsString::from).collect())
    }

    /// Finds the program of words that a person has written.
    pub(crate) fn of_words(words: &[OsString]) -> anyhow::Result<Self> {
        let (name, arguments) = words.split_first().context("there is no command")?;
        let name = Path::new(name);
        let path = name.as_os_str().as_bytes().contains(&b'/').then_some(name);
        Self::of(find(name, path)?, name, arguments.to_vec())
    }

    fn of(path: PathBuf, name: &Path, arguments: Vec<OsString>) -> anyhow::Result<Self> {
        let arguments = [name.into()].into_iter().chain(arguments);
        let arguments = arguments.map(|text| CString::new(text.into_vec())).collect::<Result<_, _>>();
        let is_kept = |name: &OsStr| LISTEN.iter().all(|other| name != *other);
        Ok(Self {
            path: CString::new(path.into_os_string().into_vec())
                .context("its path contains a null character")?,
            own: None,
            arguments: arguments.context("an argument contains a null character")?,
            environment: env::vars_os().filter(|(name, _)| is_kept(name)).collect(),
            socket: ProgramSocket::Inherited,
            null: File::options().read(true).write(true).open("/dev/null").context("open /dev/null")?,
        })
    }

    /// The file that is run.
    pub(crate) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.path.as_bytes()))
    }

    /// Runs it once more, as one that serves nothing.
    pub(crate) fn run_alone(&self) -> anyhow::Result<Pid> {
        self.run_into(io::stdout().as_fd())
    }

    /// The same, with another standard output.
    pub(crate) fn run_into(&self, stdout: BorrowedFd<'_>) -> anyhow::Result<Pid> {
        let environment = self.environment.iter().map(|(name, value)| variable(name, value));
        let stderr = io::stderr();
        let fds = [(self.null.as_fd(), 0), (stdout, 1), (stderr.as_fd(), 2)];
        self.spawn(&environment.collect::<Result<Vec<_>, _>>()?, None, &fds, false)
    }

    /// Runs it with the standard streams of this process, the first of which may be a terminal for it.
    pub(crate) fn run_attached(&self, controlling_terminal: bool) -> anyhow::Result<Pid> {
        let environment = self.environment.iter().map(|(name, value)| variable(name, value));
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        let fds = [(stdin.as_fd(), 0), (stdout.as_fd(), 1), (stderr.as_fd(), 2)];
        self.spawn(&environment.collect::<Result<Vec<_>, _>>()?, None, &fds, controlling_terminal)
    }

    /// Runs it once more.
    pub(crate) fn run(&self, endpoint: &ProgramEndpoint, notify: Option<&Path>) -> anyhow::Result<Pid> {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let mut fds = vec![(stdout.as_fd(), 1), (stderr.as_fd(), 2)];
        if let ProgramEndpoint::Inherited { listener, number, .. } = endpoint {
            fds.push((listener.as_fd(), *number));
        }
        if self.socket != ProgramSocket::Standard {
            fds.push((self.null.as_fd(), 0));
        }
        let pid_variable = (self.socket == ProgramSocket::Inherited).then_some("LISTEN_PID");
        self.spawn(&self.environment_for(endpoint, notify)?, pid_variable, &fds, false)
    }

    fn spawn(
        &self,
        environment: &[CString],
        pid_variable: Option<&str>,
        fds: &[(BorrowedFd<'_>, RawFd)],
        controlling_terminal: bool,
    ) -> anyhow::Result<Pid> {
        let executable = match &self.own {
            Some(own) => Executable::Open(own.as_fd()),
            None => Executable::Path(&self.path),
        };
        let program = Program {
            executable,
            argv: &self.arguments,
            environment,
            pid_variable,
            working_directory: None,
            credentials: None,
            no_new_privileges: false,
            wall: None,
            isolation: None,
            fds,
            controlling_terminal,
        };
        program.spawn().with_context(|| format!("run {}", self.path().display()))
    }

    fn environment_for(
        &self,
        endpoint: &ProgramEndpoint,
        notify: Option<&Path>,
    ) -> anyhow::Result<Vec<CString>> {
        let mut own: Vec<(OsString, OsString)> = Vec::new();
        let mut set = |name: &str, value: &OsStr| own.push((name.into(), value.to_owned()));
        match (endpoint, &self.socket) {
            (ProgramEndpoint::Unix { path }, ProgramSocket::Unix { variable }) => {
                set(variable, path.path().as_os_str());
            }
            (ProgramEndpoint::Port(place), ProgramSocket::Port { variable, .. }) => {
                set(variable, place.port.to_string().as_ref());
                if self.environment.iter().all(|(name, _)| name != "HOST") {
                    set("HOST", "127.0.0.1".as_ref());
                }
            }
            (_, ProgramSocket::Inherited) => {
                set("LISTEN_FDS", "1".as_ref());
                set("LISTEN_FDNAMES", DESCRIPTOR_NAME.as_ref());
            }
            _ => {}
        }
        if let Some(path) = notify {
            set("NOTIFY_SOCKET", path.as_os_str());
        }
        let is_replaced = |name: &OsStr| own.iter().any(|(other, _)| other == name);
        let kept = self.environment.iter().filter(|(name, _)| !is_replaced(name));
        kept.chain(&own).map(|(name, value)| variable(name, value)).collect()
    }
}

fn variable(name: &OsStr, value: &OsStr) -> anyhow::Result<CString> {
    let text = [name.as_bytes(), b"=", value.as_bytes()].concat();
    CString::new(text).context("a variable contains a null character")
}

/// The executable as a path: a plain name is looked for in the folders of the application's `PATH`.
fn find(executable: &Path, path: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(path) = path else { return find_in_path(executable) };
    may_run(path).with_context(|| format!("the executable \"{}\"", path.display()))?;
    Ok(path.to_owned())
}

pub(crate) fn find_in_path(name: &Path) -> anyhow::Result<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into());
    let found = env::split_paths(&folders).map(|folder| folder.join(name));
    match found.into_iter().find(|path| may_run(path).is_ok()) {
        Some(path) => Ok(path),
        None => bail!(
            "the executable \"{}\" is in none of the folders of PATH: {}",
            name.display(),
            folders.display()
        ),
    }
}

const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(crate) fn may_run(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(rustix::fs::access(path, Access::EXEC_OK)?)
}
