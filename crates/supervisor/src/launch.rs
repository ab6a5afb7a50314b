//! Starts children: the controller, the router and prototypes, each with a link and a log pipe.
//!
//! Privileges are dropped between fork and exec, before the new program reads a byte. Its executable is an open
//! descriptor by then, so the new user need not be able to reach its path.

mod cgroup;
mod credentials;
mod environment;
pub(crate) mod exec;
mod image;
mod isolation;
mod jdk;
mod maps;
mod rootfs;
mod socket_folder;

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use corral_config::plan::{AppSpec, ProgramKind, RuntimeSpec};
use corral_ipc::link::Link;
use corral_sys::isolation::Isolation;
use corral_sys::landlock::{self, LandlockError};
use corral_sys::process::{self, LINK_DESCRIPTOR};
use corral_sys::spawn::{Executable, Program, SpawnError};
use corral_sys::user::{Credentials, UserError};

pub(crate) use self::cgroup::Membership;
use self::cgroup::{CgroupError, Cgroups};
use self::environment::Environment;
pub(crate) use self::image::OrderedCopy;
use self::isolation::Advised;
use self::jdk::Jdk;
use self::maps::MapError;
use self::rootfs::RootError;
pub(crate) use self::socket_folder::SocketFolder;
use crate::output::{Output, Speaker};
use crate::peer::{OutboxLimit, Peer};
use crate::users::Users;

/// Starts children; holds the things that are the same for all of them.
#[derive(Debug)]
pub(crate) struct Launcher {
    /// Where this executable was found, and what it was started with: for a successor.
    path: PathBuf,
    arguments: Vec<OsString>,
    /// This very executable, which is the controller and the router too.
    own_executable: File,
    /// Arguments behind `internal controller` and `internal router`.
    internal_arguments: Vec<String>,
    /// When this process may change users.
    users: Option<Users>,
    pub(crate) environment: Environment,
    /// Keeps applications of the daemon's user from its processes, if the kernel can.
    wall: Option<OwnedFd>,
    null: File,
    cgroups: Cgroups,
}

/// An application's prototype that was started.
#[derive(Debug)]
pub(crate) struct StartedProcess {
    pub(crate) peer: Peer,
    pub(crate) outputs: Vec<Output>,
    /// Membership in the prototype's control group, for as long as any process of it runs.
    pub(crate) membership: Option<Membership>,
}

/// Why a child was not started; the whole chain is for the person who sent the configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    /// The host executable cannot be opened.
    #[error("open the host executable {}", path.display())]
    Executable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The application's user or group does not exist.
    #[error("find the user to run as")]
    User(#[source] UserError),
    /// The daemon is not root and the application names another user.
    #[error(
        "cannot run as another user, because the daemon itself may not change users; remove \"user\" and \
         \"group\", start the daemon as root, or give the application a \"credential\" namespace"
    )]
    MayNotChangeUser,
    /// A path or variable holds a NUL byte.
    #[error("{what} contains a null character")]
    NullCharacter { what: &'static str },
    /// The working directory cannot be entered.
    #[error("change to the working directory {}", path.display())]
    WorkingDirectory {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Users or groups of its namespace cannot be what the document says.
    #[error("map users and groups")]
    Maps(#[source] MapError),
    /// The application cannot have its control group.
    #[error("prepare the control group")]
    Cgroup(#[source] CgroupError),
    /// The kernel cannot restrict it to its `filesystem`.
    #[error("restrict the application to its \"filesystem\"")]
    Files(#[source] LandlockError),
    /// The application's root cannot be made ready.
    #[error(transparent)]
    Root(RootError),
    /// The application cannot be set apart.
    #[error("{what}")]
    Isolation {
        what: String,
        #[source]
        source: Advised,
    },
    /// The process could not be made.
    #[error(transparent)]
    Spawn(SpawnError),
    /// The link or pipe of the process could not be made.
    #[error("create the socket pair and pipe of a new process")]
    Plumbing(#[source] io::Error),
}

/// The settings of an application's processes that main alone knows.
struct Setting {
    /// Nothing where main may not change users.
    credentials: Option<Credentials>,
    environment: Vec<CString>,
    /// Files and folders that are mounted in a root of its own.
    dependencies: Vec<PathBuf>,
    /// Whether it is kept from others of its user.
    is_walled: bool,
}

/// The users that this process may start others as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rights {
    AnyUser,
    OwnUser,
}

/// One process to start.
struct Launch<'a> {
    name: &'a str,
    executable: BorrowedFd<'a>,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    working_directory: Option<CString>,
    credentials: Option<&'a Credentials>,
    no_new_privileges: bool,
    wall: Option<BorrowedFd<'a>>,
    isolation: Option<&'a Isolation>,
    stdout: Stdout,
    /// The source of the lines on its standard error.
    speaker: Speaker,
}

enum Stdout {
    /// The pipe to main that standard error is.
    Errors,
    /// One of its own: what is printed there is not an error.
    Own(Speaker),
}

impl Launcher {
    /// Remembers the environment and the executable as they are now.
    pub(crate) fn new(users: Option<Users>, internal_arguments: Vec<String>) -> io::Result<Self> {
        Ok(Self {
            path: std::env::current_exe()?,
            arguments: std::env::args_os().collect(),
            own_executable: File::open("/proc/self/exe")?,
            internal_arguments,
            users,
            environment: Environment::of_this_process(),
            wall: landlock::wall(),
            null: File::options().read(true).write(true).open("/dev/null")?,
            cgroups: Cgroups::default(),
        })
    }

    /// Starts the controller or the router; `shows` is whether its standard output is shown on this process's.
    pub(crate) fn start_own(&self, role: &str, shows: bool) -> Result<(Peer, Vec<Output>), LaunchError> {
        self.start_role(role, shows, self.users.as_ref().map(|users| &users.daemon.credentials))
    }

    /// Starts the executable that is where this one was, as this one was started, to take over from it. Not as a child:
    /// it outlives this process, which ends all its children, and collects those of children that have ended.
    pub(crate) fn start_successor(&self) -> Result<Peer, LaunchError> {
        let executable = File::open(&self.path)
            .map_err(|source| LaunchError::Executable { path: self.path.clone(), source })?;
        let (ours, theirs) = Link::pair().map_err(LaunchError::Plumbing)?;
        let arguments = self.arguments.iter().map(|text| c_string(text.clone(), "an argument"));
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        let theirs = OwnedFd::from(theirs);
        let program = Program {
            executable: Executable::Open(executable.as_fd()),
            argv: &arguments.collect::<Result<Vec<_>, _>>()?,
            environment: &self.environment.for_successor()?,
            pid_variable: None,
            working_directory: None,
            credentials: None,
            no_new_privileges: false,
            wall: None,
            isolation: None,
            fds: &[
                (stdin.as_fd(), 0),
                (stdout.as_fd(), 1),
                (stderr.as_fd(), 2),
                (theirs.as_fd(), LINK_DESCRIPTOR),
            ],
            controlling_terminal: false,
        };
        let pid = program.spawn_sibling().map_err(LaunchError::Spawn)?;
        let pidfd = process::pidfd(pid).map_err(LaunchError::Plumbing)?;
        // It sends one word.
        ours.refuse_descriptors();
        Ok(Peer::sibling("successor".to_owned(), pid, pidfd, ours))
    }

    /// Starts the reader of configuration files, which are often for this process's user alone.
    pub(crate) fn start_reader(&self, role: &str) -> Result<(Peer, Vec<Output>), LaunchError> {
        self.start_role(role, false, None)
    }

    fn start_role(
        &self,
        role: &str,
        shows: bool,
        credentials: Option<&Credentials>,
    ) -> Result<(Peer, Vec<Output>), LaunchError> {
        let title = format!("corral: {role}");
        let fixed = [title.as_str(), "internal", role].into_iter();
        let arguments = fixed.chain(self.internal_arguments.iter().map(String::as_str));
        self.launch(Launch {
            name: role,
            executable: self.own_executable.as_fd(),
            arguments: arguments.map(|text| c_string(text, "an argument")).collect::<Result<_, _>>()?,
            environment: self.environment.for_own()?,
            working_directory: None,
            credentials,
            no_new_privileges: true,
            wall: None,
            isolation: None,
            stdout: if shows { Stdout::Own(Speaker::Requests) } else { Stdout::Errors },
            speaker: Speaker::Own,
        })
    }

    /// Starts the prototype of an application, as the application's user and set apart as it says.
    /// `dependencies` are the files that its language consists of.
    pub(crate) fn start_prototype(
        &self,
        spec: &AppSpec,
        dependencies: &[PathBuf],
    ) -> Result<StartedProcess, LaunchError> {
        let title = format!("corral: \"{}\" prototype", spec.name);
        let (executable, role) = self.host(spec)?;
        let name = format!("prototype of \"{}\"", spec.name);
        let directory = spec.working_directory.as_ref();
        let directory = directory.map(|path| c_string(path.clone(), "\"working_directory\"")).transpose()?;
        let Setting { credentials, environment, dependencies, is_walled } =
            self.setting(spec, dependencies)?;
        let wall = self.wall.as_ref().filter(|_| is_walled).map(AsFd::as_fd);
        let (isolation, membership) = isolation::prepare(
            &spec.isolation,
            credentials.as_ref(),
            self.rights(),
            &dependencies,
            &self.cgroups,
        )?;
        let (stdout, speaker) = streams(spec);
        let launched = self.launch(Launch {
            name: &name,
            executable: executable.as_fd(),
            arguments: [c_string(title, "the name")?].into_iter().chain(role).collect(),
            environment,
            working_directory: directory,
            credentials: credentials.as_ref(),
            no_new_privileges: spec.isolation.new_privs == Some(false) || is_walled,
            wall,
            isolation: Some(&isolation),
            stdout,
            speaker,
        });
        let (peer, outputs) = launched.map_err(|error| match error {
            LaunchError::Spawn(error) => isolation::explain(error, spec, &isolation, self.rights()),
            error => error,
        })?;
        Ok(StartedProcess { peer, outputs, membership })
    }

    /// The settings of an application's processes that only this process knows.
    fn setting(&self, spec: &AppSpec, dependencies: &[PathBuf]) -> Result<Setting, LaunchError> {
        let credentials = credentials::of(spec, self.users.as_ref())?;
        let is_shared = credentials::are_shared(&spec.isolation, credentials.as_ref(), self.users.as_ref());
        let mut environment = self.environment.for_application(spec, credentials.as_ref())?;
        let mut dependencies = dependencies.to_vec();
        if let Some(jdk) = jdk_for(spec, &environment) {
            environment.push(variable("JAVA_HOME", &jdk.home)?);
            dependencies.extend(jdk.files);
        }
        // The wall takes away from its programs to gain privileges.
        let is_walled = is_shared && self.can_wall(spec);
        Ok(Setting { credentials, environment, dependencies, is_walled })
    }

    /// The host executable of an application, and what tells it to be the application's prototype.
    fn host(&self, spec: &AppSpec) -> Result<(File, Vec<CString>), LaunchError> {
        if let RuntimeSpec::Http(_) | RuntimeSpec::Process(_) = spec.runtime {
            let executable = self.own_executable.try_clone().map_err(LaunchError::Plumbing)?;
            return Ok((executable, vec![c"internal".to_owned(), c"program".to_owned()]));
        }
        let executable = File::open(&spec.module)
            .map_err(|source| LaunchError::Executable { path: spec.module.clone(), source })?;
        Ok((executable, vec![c"prototype".to_owned()]))
    }

    /// Whether the application can be started, as far as that is known before: there is a user that it can run as, a
    /// folder that can be its root, and a kernel that can set it apart.
    pub(crate) fn check(&self, spec: &AppSpec) -> Result<(), LaunchError> {
        let credentials = credentials::of(spec, self.users.as_ref())?;
        isolation::id_maps(&spec.isolation, credentials.as_ref(), self.rights())
            .map_err(LaunchError::Maps)?;
        rootfs::check(&spec.isolation).map_err(LaunchError::Root)?;
        spec.isolation.cgroup.as_ref().map_or(Ok(()), Cgroups::check).map_err(LaunchError::Cgroup)?;
        if spec.isolation.filesystem.is_some() && !landlock::is_supported() {
            return Err(LaunchError::Files(LandlockError::Unsupported));
        }
        Ok(())
    }

    fn rights(&self) -> Rights {
        if self.users.is_some() { Rights::AnyUser } else { Rights::OwnUser }
    }

    /// Whether the controller and the router run as the user of an application, which then can do to them what the
    /// kernel lets processes of one user do to each other.
    pub(crate) fn shares_user(&self, spec: &AppSpec) -> bool {
        let credentials = credentials::of(spec, self.users.as_ref()).ok().flatten();
        credentials::are_shared(&spec.isolation, credentials.as_ref(), self.users.as_ref())
    }

    /// Whether applications may have users of their own.
    pub(crate) fn may_change_users(&self) -> bool {
        self.users.is_some()
    }

    /// Whether an application that shares the daemon's user is kept from sending signals to its processes.
    pub(crate) fn can_wall(&self, spec: &AppSpec) -> bool {
        self.wall.is_some() && spec.isolation.new_privs != Some(true)
    }

    fn launch(&self, launch: Launch<'_>) -> Result<(Peer, Vec<Output>), LaunchError> {
        let (ours, theirs) = Link::pair().map_err(LaunchError::Plumbing)?;
        let room = if launch.speaker == Speaker::Own { OutboxLimit::Large } else { OutboxLimit::Small };
        let (errors, stderr) = Output::pipe(launch.speaker).map_err(LaunchError::Plumbing)?;
        let mut outputs = vec![errors];
        let mut own_stdout = None;
        let stdout = match launch.stdout {
            Stdout::Errors => stderr.as_fd(),
            Stdout::Own(speaker) => {
                let (output, stdout) = Output::pipe(speaker).map_err(LaunchError::Plumbing)?;
                outputs.insert(0, output);
                let stdout: &OwnedFd = own_stdout.insert(stdout);
                stdout.as_fd()
            }
        };
        let pid = Program {
            executable: Executable::Open(launch.executable),
            argv: &launch.arguments,
            environment: &launch.environment,
            pid_variable: None,
            working_directory: launch.working_directory.as_deref(),
            credentials: launch.credentials,
            no_new_privileges: launch.no_new_privileges,
            wall: launch.wall,
            isolation: launch.isolation,
            fds: &[
                (self.null.as_fd(), 0),
                (stdout, 1),
                (stderr.as_fd(), 2),
                (OwnedFd::from(theirs).as_fd(), LINK_DESCRIPTOR),
            ],
            controlling_terminal: false,
        }
        .spawn()
        .map_err(LaunchError::Spawn)?;
        Ok((Peer::new(launch.name.to_owned(), pid, ours, room), outputs))
    }
}

/// Where the output of an application goes. What interpreters are given for errors is standard error, and whatever else
/// goes there is one too: an exception that was not caught, in a thread or at exit. Programs write all sorts of things
/// there.
fn streams(spec: &AppSpec) -> (Stdout, Speaker) {
    let (name, app) = (spec.name.clone(), Speaker::App(spec.name.clone()));
    match spec.runtime {
        RuntimeSpec::Http(_) | RuntimeSpec::Process(_) | RuntimeSpec::Unusable(_) => (Stdout::Errors, app),
        RuntimeSpec::Perl(_)
        | RuntimeSpec::Php(_)
        | RuntimeSpec::Python(_)
        | RuntimeSpec::Ruby(_)
        | RuntimeSpec::Wasm(_) => (Stdout::Own(app), Speaker::Errors(name)),
    }
}

/// The virtual machine that an application gets in a root of its own.
fn jdk_for(spec: &AppSpec, environment: &[CString]) -> Option<Jdk> {
    let RuntimeSpec::Http(http) = &spec.runtime else { return None };
    let rootfs = spec.isolation.rootfs.as_ref().filter(|_| spec.isolation.automount.language_deps)?;
    let value = |name: &str| {
        let value =
            environment.iter().rev().find_map(|variable| variable.as_bytes().strip_prefix(name.as_bytes()));
        value.map(OsStr::from_bytes)
    };
    matches!(http.kind, ProgramKind::Java(_))
        .then(|| Jdk::find(value("JAVA_HOME="), value("PATH="), rootfs))
        .flatten()
}

fn variable(name: &str, value: &Path) -> Result<CString, LaunchError> {
    let mut text = OsString::from(name);
    text.push("=");
    text.push(value);
    c_string(text, "a variable of the environment")
}

fn c_string(text: impl Into<OsString>, what: &'static str) -> Result<CString, LaunchError> {
    CString::new(text.into().into_vec()).map_err(|_| LaunchError::NullCharacter { what })
}

#[cfg(test)]
mod tests {
    use crate::testing::{spec, users};

    use super::*;

    fn launcher() -> Launcher {
        Launcher::new(Some(users("daemon")), vec![]).unwrap()
    }

    #[track_caller]
    fn check_failure(spec: &AppSpec, expected: &str) {
        assert_eq!(launcher().start_prototype(spec, &[]).unwrap_err().to_string(), expected);
    }

    #[test]
    fn what_cannot_be_started_says_why() {
        check_failure(&spec("a=/a"), "open the host executable /modules/corral-php");
        let sh = AppSpec { module: "/bin/sh".into(), ..spec("a=/a") };
        let lost = AppSpec { working_directory: Some("/no/such/folder".into()), ..sh.clone() };
        check_failure(&lost, "change to the working directory /no/such/folder");
        let odd = AppSpec { working_directory: Some("/a\0b".into()), ..sh };
        check_failure(&odd, "\"working_directory\" contains a null character");
    }

    #[test]
    fn a_child_has_its_link_and_pipe() {
        let sh = AppSpec { module: "/bin/sh".into(), ..spec("a=/a") };
        // `sh prototype` looks for a script of that name, says that there is none, and ends.
        let StartedProcess { mut peer, mut outputs, .. } = launcher().start_prototype(&sh, &[]).unwrap();
        assert!(corral_sys::signal::wait_for(peer.pid()).is_ok());
        assert!(peer.next_message::<corral_ipc::message::FromPrototype>().is_none());
        assert!(!peer.is_open());
        let drained = outputs.iter_mut().map(|output| output.drain(std::time::Duration::from_secs(1)));
        assert_eq!(drained.collect::<Vec<_>>(), [crate::output::Drained::Ended; 2]);
    }
}
