//! Starts children: the controller, the router and prototypes, each with a link and a log pipe.

mod cgroup;
mod isolation;
mod maps;
mod rootfs;

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::link::Link;
use corral_sys::isolation::Isolation;
use corral_sys::landlock::{self, LandlockError};
use corral_sys::process::{self, LINK_DESCRIPTOR};
use corral_sys::spawn::{Executable, Program, SpawnError};
use corral_sys::user::{self, Credentials, UserError};

pub(crate) use self::cgroup::Membership;
use self::cgroup::{CgroupError, Cgroups};
use self::isolation::Advised;
use self::maps::MapError;
use self::rootfs::RootError;
use crate::output::{Output, Speaker};
use crate::peer::Peer;
use crate::{predecessor, service_manager};

/// What is the same for all children.
#[derive(Debug)]
pub(crate) struct Launcher {
    /// Where this executable was found, and what it was started with: for a successor.
    path: PathBuf,
    arguments: Vec<OsString>,
    /// This very executable, which is the controller and the router too.
    own_executable: File,
    /// Arguments behind `internal controller` and `internal router`.
    internal_arguments: Vec<String>,
    /// The user of the controller, the router and of applications that name none, when this
    /// process may change users.
    unprivileged: Option<Unprivileged>,
    environment: Vec<(OsString, OsString)>,
    null: File,
    cgroups: Cgroups,
}

/// An application's prototype that was started.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) peer: Peer,
    pub(crate) output: Output,
    /// Of its control group, for as long as any process of it runs.
    pub(crate) membership: Option<Membership>,
}

/// The daemon's user, by name for messages and because an application may name only its group.
#[derive(Debug, Clone)]
pub(crate) struct Unprivileged {
    pub(crate) user: String,
    pub(crate) credentials: Credentials,
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
    /// It cannot have its control group.
    #[error("prepare the control group")]
    Cgroup(#[source] CgroupError),
    /// The kernel cannot restrict it to its `filesystem`.
    #[error("restrict the application to its \"filesystem\"")]
    Files(#[source] LandlockError),
    /// Its root cannot be made ready.
    #[error(transparent)]
    Root(RootError),
    /// It cannot be set apart.
    #[error("{what}")]
    Isolation {
        what: String,
        #[source]
        source: Advised,
    },
    /// The process could not be made.
    #[error(transparent)]
    Spawn(SpawnError),
    /// Its link or pipe could not be made.
    #[error("create the socket pair and pipe of a new process")]
    Plumbing(#[source] io::Error),
}

/// Whom this process may start others as.
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
    isolation: Option<&'a Isolation>,
    stdout: Stdout<'a>,
    speaker: Speaker,
}

#[derive(Clone, Copy)]
enum Stdout<'a> {
    /// The pipe to main.
    Log,
    /// The terminal, for the requests that `corral run` shows.
    Terminal(BorrowedFd<'a>),
}

impl Launcher {
    /// Remembers the environment and the executable as they are now.
    pub(crate) fn new(
        unprivileged: Option<Unprivileged>,
        internal_arguments: Vec<String>,
    ) -> io::Result<Self> {
        Ok(Self {
            path: std::env::current_exe()?,
            arguments: std::env::args_os().collect(),
            own_executable: File::open("/proc/self/exe")?,
            internal_arguments,
            unprivileged,
            environment: std::env::vars_os().filter(|(name, _)| name != predecessor::MARK).collect(),
            null: File::options().read(true).write(true).open("/dev/null")?,
            cgroups: Cgroups::default(),
        })
    }

    /// Starts the controller or the router.
    pub(crate) fn start_own(&self, role: &str, terminal: bool) -> Result<(Peer, Output), LaunchError> {
        self.start_role(role, terminal, self.unprivileged.as_ref().map(|user| &user.credentials))
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
            environment: &self.successor_environment()?,
            pid_variable: None,
            working_directory: None,
            credentials: None,
            no_new_privileges: false,
            isolation: None,
            fds: &[
                (stdin.as_fd(), 0),
                (stdout.as_fd(), 1),
                (stderr.as_fd(), 2),
                (theirs.as_fd(), LINK_DESCRIPTOR),
            ],
        };
        let pid = program.spawn_sibling().map_err(LaunchError::Spawn)?;
        let pidfd = process::pidfd(pid).map_err(LaunchError::Plumbing)?;
        Ok(Peer::sibling("successor".to_owned(), pid, pidfd, ours))
    }

    /// Starts the reader of configuration files, which are often for this process's user alone.
    pub(crate) fn start_reader(&self, role: &str) -> Result<(Peer, Output), LaunchError> {
        self.start_role(role, false, None)
    }

    fn start_role(
        &self,
        role: &str,
        terminal: bool,
        credentials: Option<&Credentials>,
    ) -> Result<(Peer, Output), LaunchError> {
        let title = format!("corral: {role}");
        let fixed = [title.as_str(), "internal", role].into_iter();
        let arguments = fixed.chain(self.internal_arguments.iter().map(String::as_str));
        let stdout = io::stdout();
        self.launch(Launch {
            name: role,
            executable: self.own_executable.as_fd(),
            arguments: arguments.map(|text| c_string(text, "an argument")).collect::<Result<_, _>>()?,
            environment: self.environment_with(&[])?,
            working_directory: None,
            credentials,
            no_new_privileges: true,
            isolation: None,
            stdout: if terminal { Stdout::Terminal(stdout.as_fd()) } else { Stdout::Log },
            speaker: Speaker::Own,
        })
    }

    /// Starts the prototype of an application, as the application's user and set apart as it says.
    /// `dependencies` are the files that its language consists of.
    pub(crate) fn start_prototype(
        &self,
        spec: &AppSpec,
        dependencies: &[PathBuf],
    ) -> Result<Started, LaunchError> {
        let title = format!("corral: \"{}\" prototype", spec.name);
        let (executable, role) = self.host(spec)?;
        let name = format!("prototype of \"{}\"", spec.name);
        let directory = spec.working_directory.as_ref();
        let directory = directory.map(|path| c_string(path.clone(), "\"working_directory\"")).transpose()?;
        let credentials = self.credentials(spec)?;
        let mut isolation =
            isolation::prepare(&spec.isolation, credentials.as_ref(), self.rights(), dependencies)?;
        let cgroup = spec.isolation.cgroup.as_ref().map(|cgroup| self.cgroups.prepare(cgroup));
        let (membership, cgroup) = cgroup.transpose().map_err(LaunchError::Cgroup)?.unzip();
        isolation.cgroup = cgroup;
        let launched = self.launch(Launch {
            name: &name,
            executable: executable.as_fd(),
            arguments: [c_string(title, "the name")?].into_iter().chain(role).collect(),
            environment: self.environment_with(&spec.environment)?,
            working_directory: directory,
            credentials: credentials.as_ref(),
            no_new_privileges: spec.isolation.no_new_privs,
            isolation: Some(&isolation),
            stdout: Stdout::Log,
            speaker: Speaker::App(spec.name.clone()),
        });
        let (peer, output) = launched.map_err(|error| match error {
            LaunchError::Spawn(error) => isolation::explain(error, spec, &isolation, self.rights()),
            error => error,
        })?;
        Ok(Started { peer, output, membership })
    }

    /// The host executable of an application, and what tells it to be the application's prototype.
    fn host(&self, spec: &AppSpec) -> Result<(File, Vec<CString>), LaunchError> {
        if let RuntimeSpec::Http(_) = spec.runtime {
            let executable = self.own_executable.try_clone().map_err(LaunchError::Plumbing)?;
            return Ok((executable, vec![c"internal".to_owned(), c"program".to_owned()]));
        }
        let executable = File::open(&spec.module)
            .map_err(|source| LaunchError::Executable { path: spec.module.clone(), source })?;
        Ok((executable, vec![c"prototype".to_owned()]))
    }

    /// Whether the application can be started, as far as that is known before: there is somebody that it can
    /// run as, a folder that can be its root, and a kernel that can set it apart.
    pub(crate) fn check(&self, spec: &AppSpec) -> Result<(), LaunchError> {
        let credentials = self.credentials(spec)?;
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
        if self.unprivileged.is_some() { Rights::AnyUser } else { Rights::OwnUser }
    }

    /// What an application runs as; `None` when the daemon's own user is meant and cannot change.
    fn credentials(&self, spec: &AppSpec) -> Result<Option<Credentials>, LaunchError> {
        let Some(default) = &self.unprivileged else {
            return if spec.isolation.namespaces.credential {
                credentials_of_namespace(spec).map(Some)
            } else {
                own_credentials_suffice(spec).map(|()| None)
            };
        };
        match (&spec.user, &spec.group) {
            (None, None) => Ok(Some(default.credentials.clone())),
            (user, group) => {
                let user = user.as_deref().unwrap_or(&default.user);
                Credentials::resolve(user, group.as_deref()).map(Some).map_err(LaunchError::User)
            }
        }
    }

    /// This process's environment, with `overrides` in place of variables of the same name.
    fn environment_with(&self, overrides: &[(String, String)]) -> Result<Vec<CString>, LaunchError> {
        let is_kept = |name: &OsString| {
            let is_for_main = service_manager::VARIABLES.iter().any(|other| name == other);
            !is_for_main && overrides.iter().all(|(other, _)| name != other.as_str())
        };
        let inherited = self.environment.iter().filter(|(name, _)| is_kept(name));
        let inherited = inherited.map(|(name, value)| variable(name.clone(), value.clone()));
        let own = overrides.iter().map(|(name, value)| variable(name.into(), value.into()));
        inherited.chain(own).collect()
    }

    /// This process's, whose number and inherited descriptors the successor does not have.
    fn successor_environment(&self) -> Result<Vec<CString>, LaunchError> {
        let is_ours =
            |name: &OsString| name == "WATCHDOG_PID" || name.as_encoded_bytes().starts_with(b"LISTEN_");
        let inherited = self.environment.iter().filter(|(name, _)| !is_ours(name)).cloned();
        let mark = (predecessor::MARK.into(), "1".into());
        inherited.chain([mark]).map(|(name, value)| variable(name, value)).collect()
    }

    fn launch(&self, launch: Launch<'_>) -> Result<(Peer, Output), LaunchError> {
        let (ours, theirs) = Link::pair().map_err(LaunchError::Plumbing)?;
        let (output, writer) = Output::pipe(launch.speaker).map_err(LaunchError::Plumbing)?;
        let stdout = match launch.stdout {
            Stdout::Log => writer.as_fd(),
            Stdout::Terminal(fd) => fd,
        };
        let pid = Program {
            executable: Executable::Open(launch.executable),
            argv: &launch.arguments,
            environment: &launch.environment,
            pid_variable: None,
            working_directory: launch.working_directory.as_deref(),
            credentials: launch.credentials,
            no_new_privileges: launch.no_new_privileges,
            isolation: launch.isolation,
            fds: &[
                (self.null.as_fd(), 0),
                (stdout, 1),
                (writer.as_fd(), 2),
                (OwnedFd::from(theirs).as_fd(), LINK_DESCRIPTOR),
            ],
        }
        .spawn()
        .map_err(LaunchError::Spawn)?;
        Ok((Peer::new(launch.name.to_owned(), pid, ours), output))
    }
}

/// For a daemon that may not change users: an application may name the user that it is anyway.
fn own_credentials_suffice(spec: &AppSpec) -> Result<(), LaunchError> {
    if spec.user.is_none() && spec.group.is_none() {
        return Ok(());
    }
    let wanted = named_credentials(spec)?;
    let same_group = spec.group.is_none() || wanted.gid == user::effective_gid();
    let is_own = wanted.uid == user::effective_uid() && same_group;
    if is_own { Ok(()) } else { Err(LaunchError::MayNotChangeUser) }
}

/// For the same daemon: in a user namespace it can be called by any number, and is itself outside.
fn credentials_of_namespace(spec: &AppSpec) -> Result<Credentials, LaunchError> {
    let own = Credentials { uid: user::effective_uid(), gid: user::effective_gid(), groups: vec![] };
    if spec.user.is_none() && spec.group.is_none() {
        return Ok(own);
    }
    named_credentials(spec).map(|wanted| Credentials { groups: vec![], ..wanted })
}

/// Whom the document names, this process's user where it names only a group.
fn named_credentials(spec: &AppSpec) -> Result<Credentials, LaunchError> {
    let own_user = user::effective_uid();
    let own_name = user::user_by_uid(own_user).map_or_else(|_| own_user.to_string(), |user| user.name);
    let user = spec.user.as_deref().unwrap_or(&own_name);
    Credentials::resolve(user, spec.group.as_deref()).map_err(LaunchError::User)
}

fn variable(mut name: OsString, value: OsString) -> Result<CString, LaunchError> {
    name.push("=");
    name.push(value);
    c_string(name, "a variable of the environment")
}

fn c_string(text: impl Into<OsString>, what: &'static str) -> Result<CString, LaunchError> {
    CString::new(text.into().into_vec()).map_err(|_| LaunchError::NullCharacter { what })
}

#[cfg(test)]
mod tests {
    use crate::testing::spec;

    use super::*;

    fn launcher() -> Launcher {
        let nobody = Credentials::resolve("nobody", None).unwrap();
        let unprivileged = Unprivileged { user: "nobody".into(), credentials: nobody };
        let mut launcher = Launcher::new(Some(unprivileged), vec![]).unwrap();
        launcher.environment = vec![("A".into(), "1".into()), ("B".into(), "2".into())];
        launcher
    }

    #[test]
    fn an_application_overrides_the_environment() {
        let environment = launcher().environment_with(&[("B".into(), "3=4".into()), ("C".into(), "".into())]);
        assert_eq!(environment.unwrap(), [c"A=1", c"B=3=4", c"C="].map(ToOwned::to_owned));
    }

    #[track_caller]
    fn check_user(user: Option<&str>, group: Option<&str>, expected: Result<(u32, u32), &str>) {
        let spec = AppSpec { user: user.map(Into::into), group: group.map(Into::into), ..spec("a=/a") };
        let found = launcher().credentials(&spec).map(|found| {
            let found = found.expect("a daemon that may change users");
            (found.uid, found.gid)
        });
        let found = found.map_err(|error| std::error::Error::source(&error).unwrap().to_string());
        assert_eq!(found, expected.map_err(ToOwned::to_owned));
    }

    #[test]
    fn the_daemon_s_user_is_the_default() {
        check_user(None, None, Ok((65534, 65534)));
        check_user(Some("root"), None, Ok((0, 0)));
        check_user(None, Some("root"), Ok((65534, 0)));
        check_user(Some("no-such"), None, Err("there is no user \"no-such\""));
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
        let Started { mut peer, mut output, .. } = launcher().start_prototype(&sh, &[]).unwrap();
        assert!(corral_sys::signal::wait_for(peer.pid()).is_ok());
        assert!(peer.next_message::<u8>().is_none());
        assert!(!peer.is_open());
        assert_eq!(output.drain(), crate::output::Drained::Ended);
    }
}
