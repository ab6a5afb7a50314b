//! Commands that `corral exec` runs as an application: main says what the application's processes have, and another
//! process starts one with it.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use corral_config::plan::{AppSpec, RuntimeSpec};
use corral_ipc::link::Link;
use corral_ipc::message::ExecContext;
use corral_sys::isolation::{join_mounts_of, own_namespace};
use corral_sys::landlock::{self, LandlockError};
use corral_sys::limits;
use corral_sys::process::{self, LINK_DESCRIPTOR};
use corral_sys::signal::Pid;
use corral_sys::spawn::{Executable, Program};
use corral_sys::user::{self, Credentials};

use super::cgroup::{Cgroups, Membership};
use super::{LaunchError, Launcher, Rights, Setting, c_string, credentials, isolation};

impl Launcher {
    /// All that another process has to know to run a command as an application.
    pub(crate) fn exec_context(
        &self,
        spec: &AppSpec,
        dependencies: &[PathBuf],
    ) -> Result<ExecContext, LaunchError> {
        let Setting { credentials, environment, dependencies, is_walled } =
            self.setting(spec, dependencies)?;
        let daemon = user::own_credentials();
        let owner = match (&self.users, &credentials) {
            (Some(_), Some(credentials)) => credentials::outside(&spec.isolation, credentials.uid),
            _ => daemon.uid,
        };
        let mut spec = spec.clone();
        if let Some(cgroup) = &mut spec.isolation.cgroup {
            cgroup.path = Cgroups::absolute(&cgroup.path).map_err(LaunchError::Cgroup)?;
        }
        Ok(ExecContext {
            spec,
            environment,
            credentials: credentials.map(Into::into),
            daemon: daemon.into(),
            may_change_users: self.may_change_users(),
            owner,
            is_walled,
            dependencies,
            folder: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            pid: std::process::id(),
            processes: own_namespace("pid"),
            mounts: own_namespace("mnt"),
            umask: process::umask(),
            limits: limits::current(),
        })
    }
}

/// The things that the process beside a command is started with, besides those of the application.
#[derive(Debug)]
pub struct Attachment<'a> {
    /// This program, which is that process too.
    pub executable: BorrowedFd<'a>,
    /// Standard input, output and error.
    pub streams: [BorrowedFd<'a>; 3],
    /// A folder in place of the application's.
    pub folder: Option<&'a Path>,
    /// The kind of the terminal, if there is one.
    pub terminal: Option<&'a OsStr>,
}

/// A process that runs as the application, and waits to be told the command.
#[derive(Debug)]
pub struct Attached {
    /// The number of the process for this one, which has to collect it.
    pub pid: Pid,
    /// The link by which the process is told its command.
    pub link: Link,
    /// Membership in the application's control group, for as long as the process runs.
    _membership: Option<Membership>,
}

/// Starts the process beside a command. This process, which has one thread, takes over the application's limits, mask,
/// and user where the daemon has no other.
///
/// # Errors
/// When this process may not become the application's user, or the application cannot be set apart.
pub fn start(context: &ExecContext, attachment: &Attachment<'_>) -> anyhow::Result<Attached> {
    let rights = take_rights(context)?;
    let mut spec = context.spec.clone();
    if let Some(folder) = attachment.folder {
        spec.working_directory = Some(folder.to_owned());
    }
    context.umask.into_iter().for_each(process::set_umask);
    limits::set(&context.limits).context("set the limits of resources that the application has")?;
    spawn(context, &spec, rights, attachment).map_err(anyhow::Error::new)
}

fn spawn(
    context: &ExecContext,
    spec: &AppSpec,
    rights: Rights,
    attachment: &Attachment<'_>,
) -> Result<Attached, LaunchError> {
    let credentials = credentials_for(context, rights);
    let wall = wall_for(context)?;
    let (isolation, membership) = isolation::prepare(
        &spec.isolation,
        credentials.as_ref(),
        rights,
        &context.dependencies,
        &Cgroups::default(),
    )?;
    let directory = spec.working_directory.as_ref();
    let directory = directory.map(|path| c_string(path.clone(), "\"working_directory\"")).transpose()?;
    let (ours, theirs) = Link::pair().map_err(LaunchError::Plumbing)?;
    let theirs = OwnedFd::from(theirs);
    let [stdin, stdout, stderr] = attachment.streams;
    let program = Program {
        executable: Executable::Open(attachment.executable),
        argv: &["corral: exec", "internal", "exec"].map(|text| CString::new(text).expect("it has no NUL")),
        environment: &environment(context, attachment.terminal)?,
        pid_variable: None,
        working_directory: directory.as_deref(),
        credentials: credentials.as_ref(),
        no_new_privileges: spec.isolation.new_privs == Some(false) || wall.is_some(),
        wall: wall.as_ref().map(AsFd::as_fd),
        isolation: Some(&isolation),
        fds: &[(stdin, 0), (stdout, 1), (stderr, 2), (theirs.as_fd(), LINK_DESCRIPTOR)],
        controlling_terminal: false,
    };
    let pid = program.spawn().map_err(|error| isolation::explain(error, spec, &isolation, rights))?;
    Ok(Attached { pid, link: ours, _membership: membership })
}

/// Makes sure that this process may become the application's user. With root's rights it becomes the user of a daemon
/// that has none itself: what such a daemon cannot do is not to be done for it.
fn take_rights(context: &ExecContext) -> anyhow::Result<Rights> {
    let own = user::effective_uid();
    if user::can_change_user() {
        join_mounts(context)?;
        if context.may_change_users {
            return Ok(Rights::AnyUser);
        }
        if own != context.daemon.uid {
            let daemon = Credentials::from(context.daemon.clone());
            user::become_for_good(&daemon).context("become the user of the daemon")?;
        }
        return Ok(Rights::OwnUser);
    }
    let name = &context.spec.name;
    if own != context.owner {
        let owner =
            user::user_by_uid(context.owner).map_or_else(|_| context.owner.to_string(), |user| user.name);
        bail!("application \"{name}\" runs as \"{owner}\": only root and that user can run commands as it");
    }
    let group = context.credentials.as_ref().map(|credentials| credentials.gid);
    let has_namespace = context.spec.isolation.namespaces.credential;
    if let Some(group) = group.filter(|group| !has_namespace && *group != user::effective_gid()) {
        bail!("application \"{name}\" has the group {group}, which only root can change to");
    }
    Ok(Rights::OwnUser)
}

/// Goes where the daemon is, if a service manager has given it mounts of its own (`PrivateTmp=`).
fn join_mounts(context: &ExecContext) -> anyhow::Result<()> {
    if context.mounts.is_none() || context.mounts == own_namespace("mnt") {
        return Ok(());
    }
    if context.processes != own_namespace("pid") {
        bail!("the daemon is in a container: commands are run there, by `corral exec` inside of it");
    }
    join_mounts_of(context.pid).context("join the daemon's namespace of mounts")
}

/// The user that the process changes to, if it does.
fn credentials_for(context: &ExecContext, rights: Rights) -> Option<Credentials> {
    let is_changed = rights == Rights::AnyUser || context.spec.isolation.namespaces.credential;
    context.credentials.clone().filter(|_| is_changed).map(Into::into)
}

fn wall_for(context: &ExecContext) -> Result<Option<OwnedFd>, LaunchError> {
    if !context.is_walled {
        return Ok(None);
    }
    landlock::wall().map(Some).ok_or(LaunchError::Files(LandlockError::Unsupported))
}

/// The application's variables; with a terminal, its kind too. A virtual environment of Python is active, as it is for
/// the application.
fn environment(context: &ExecContext, terminal: Option<&OsStr>) -> Result<Vec<CString>, LaunchError> {
    let mut environment = context.environment.clone();
    let chosen = context.spec.environment.iter().any(|(name, _)| name == "TERM");
    if let Some(terminal) = terminal.filter(|_| !chosen) {
        set(&mut environment, "TERM", terminal)?;
    }
    if let RuntimeSpec::Python(python) = &context.spec.runtime
        && let Some(home) = &python.home
    {
        let mut path = home.join("bin").into_os_string();
        if let Some(others) = value(&environment, "PATH") {
            path.push(":");
            path.push(others);
        }
        set(&mut environment, "PATH", &path)?;
        set(&mut environment, "VIRTUAL_ENV", home.as_os_str())?;
    }
    Ok(environment)
}

fn value(environment: &[CString], name: &str) -> Option<OsString> {
    let found = environment.iter().rev().find_map(|variable| of_name(variable, name));
    found.map(|value| OsString::from_vec(value.to_owned()))
}

fn of_name<'a>(variable: &'a CString, name: &str) -> Option<&'a [u8]> {
    variable.as_bytes().strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

fn set(environment: &mut Vec<CString>, name: &str, value: &OsStr) -> Result<(), LaunchError> {
    environment.retain(|variable| of_name(variable, name).is_none());
    let text = [name.as_bytes(), b"=", value.as_bytes()].concat();
    environment.push(c_string(OsString::from_vec(text), "a variable of the environment")?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_takes_the_place_of_the_one_before() {
        let mut environment =
            vec![c"PATH=/bin".to_owned(), c"TERM=vt52".to_owned(), c"TERMINFO=/x".to_owned()];
        set(&mut environment, "TERM", "xterm".as_ref()).unwrap();
        assert_eq!(
            environment,
            [c"PATH=/bin".to_owned(), c"TERMINFO=/x".to_owned(), c"TERM=xterm".to_owned()]
        );
        assert_eq!(value(&environment, "PATH"), Some("/bin".into()));
        assert_eq!(value(&environment, "PAT"), None);
    }
}
