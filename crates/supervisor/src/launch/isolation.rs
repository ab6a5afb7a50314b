//! From what a document says of an application's isolation to what its first process is started with.
//!
//! Mount points and control groups are made before there is a child. clone(2) makes the namespaces with the child, so
//! that the prototype is the first process of its own and still main's child. Main writes the maps of users, for which
//! the child is dumpable for a moment because main may not be root, then lets it go.

use std::io;
use std::path::PathBuf;

use corral_config::plan::{AppSpec, Isolation as Configured};
use corral_sys::isolation::{IdMaps, Isolation, Namespaces};
use corral_sys::spawn::{SpawnError, StartStep};
use corral_sys::user::Credentials;

use super::cgroup::{Cgroups, Membership};
use super::maps::{self, MapError};
use super::rootfs;
use super::{LaunchError, Rights};

/// An error of the kernel, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{error}; {advice}")]
pub(crate) struct Advised {
    error: io::Error,
    advice: &'static str,
}

/// Makes everything ready that can be made ready outside of the process.
pub(super) fn prepare(
    wanted: &Configured,
    credentials: Option<&Credentials>,
    rights: Rights,
    dependencies: &[PathBuf],
    cgroups: &Cgroups,
) -> Result<(Isolation, Option<Membership>), LaunchError> {
    let layout = rootfs::prepare(wanted, dependencies).map_err(LaunchError::Root)?;
    let maps = id_maps(wanted, credentials, rights).map_err(LaunchError::Maps)?;
    let cgroup = wanted.cgroup.as_ref().map(|cgroup| cgroups.prepare(cgroup));
    let (membership, cgroup) = cgroup.transpose().map_err(LaunchError::Cgroup)?.unzip();
    let names = wanted.namespaces;
    let isolation = Isolation {
        namespaces: Namespaces {
            user: names.credential,
            pid: names.pid,
            network: names.network,
            mount: names.mount || rootfs::needs_mounts(wanted),
            uts: names.uname,
            cgroup: names.cgroup,
        },
        maps,
        cgroup,
        mounts: layout.mounts,
        root: layout.root,
    };
    Ok((isolation, membership))
}

/// The maps of its user namespace, if it gets one.
pub(super) fn id_maps(
    wanted: &Configured,
    credentials: Option<&Credentials>,
    rights: Rights,
) -> Result<Option<IdMaps>, MapError> {
    let Some(credentials) = credentials.filter(|_| wanted.namespaces.credential) else {
        return Ok(None);
    };
    match rights {
        Rights::AnyUser => maps::privileged(wanted, credentials).map(Some),
        Rights::OwnUser => maps::unprivileged(wanted, credentials).map(Some),
    }
}

/// Says of a failure which option it comes from, and what to do.
pub(super) fn explain(
    error: SpawnError,
    spec: &AppSpec,
    isolation: &Isolation,
    rights: Rights,
) -> LaunchError {
    let SpawnError { step, source } = error;
    if step == StartStep::WorkingDirectory
        && let Some(path) = &spec.working_directory
    {
        return LaunchError::WorkingDirectory { path: path.clone(), source };
    }
    let what = match step {
        StartStep::Namespaces => {
            let names: Vec<_> = names(spec).iter().map(|name| format!("\"{name}\"")).collect();
            format!("create the namespaces {}", names.join(", "))
        }
        StartStep::Mount(idx) => match isolation.mounts.get(usize::from(idx)) {
            Some(mount) => format!("mount \"/{}\"", mount.target.to_string_lossy()),
            None => step.to_string(),
        },
        StartStep::Root | StartStep::ChangeRoot => match &spec.isolation.rootfs {
            Some(path) => format!("{step} ({})", path.display()),
            None => step.to_string(),
        },
        step => step.to_string(),
    };
    match advice(step, &source, &spec.isolation, rights) {
        Some(advice) => LaunchError::Isolation { what, source: Advised { error: source, advice } },
        None => LaunchError::Spawn(SpawnError { step, source }),
    }
}

/// The namespaces that are made, those among them that others need.
fn names(spec: &AppSpec) -> Vec<&'static str> {
    let mut names: Vec<_> = spec.isolation.namespaces.names().collect();
    if rootfs::needs_mounts(&spec.isolation) && !names.contains(&"mount") {
        names.push("mount");
    }
    names
}

fn advice(step: StartStep, error: &io::Error, wanted: &Configured, rights: Rights) -> Option<&'static str> {
    let is = |kind| error.kind() == kind;
    let has_users = wanted.namespaces.credential;
    Some(match step {
        StartStep::Namespaces if error.raw_os_error() == Some(NO_SPACE) => {
            "the limits of namespaces in /proc/sys/user are reached, or 0"
        }
        StartStep::Namespaces if is(io::ErrorKind::InvalidInput) => "this kernel lacks one of them",
        StartStep::Namespaces if has_users => {
            "this system forbids user namespaces: look at kernel.unprivileged_userns_clone, \
             kernel.apparmor_restrict_unprivileged_userns and the seccomp profile of the container"
        }
        StartStep::Namespaces if rights == Rights::OwnUser => {
            "start the daemon as root, or set \"credential\": true, too"
        }
        StartStep::Namespaces => {
            "the daemon lacks the capability CAP_SYS_ADMIN; set \"credential\": true, too"
        }
        StartStep::UserMap | StartStep::GroupMap => {
            "the daemon may map only numbers that exist in its own namespace, and needs CAP_SETUID and CAP_SETGID"
        }
        StartStep::Cgroup => "the daemon may not move processes there, or the group has others below it",
        StartStep::CgroupNamespace => {
            "the daemon lacks the capability CAP_SYS_ADMIN; set \"credential\": true, too"
        }
        StartStep::Mount(_) if is(io::ErrorKind::Unsupported) => "this needs Linux 5.12",
        StartStep::Mount(_) if is(io::ErrorKind::PermissionDenied) => {
            "the system forbids the mount, as containers do that hide parts of /proc; or others may not pass the \
             folders on the way to it; switch it off in \"automount\""
        }
        StartStep::Mount(_) => "switch it off in \"automount\", or make room for it in the rootfs",
        StartStep::Propagation => "the daemon lacks the capability CAP_SYS_ADMIN",
        StartStep::Root => "every user must be able to pass the folders on the way to it",
        StartStep::ChangeRoot => {
            "the daemon lacks the capability CAP_SYS_CHROOT; set \"credential\": true, too"
        }
        StartStep::Credentials if has_users => "the user or a group is not in \"uidmap\" or \"gidmap\"",
        StartStep::Execute if wanted.rootfs.is_some() && is(io::ErrorKind::NotFound) => {
            "the rootfs lacks the loader of shared libraries: set \"language_deps\": true in \"automount\", or copy \
             them there"
        }
        StartStep::Fork
        | StartStep::Descriptors
        | StartStep::Terminal
        | StartStep::Credentials
        | StartStep::Wall
        | StartStep::WorkingDirectory
        | StartStep::Session
        | StartStep::Execute => return None,
    })
}

/// `ENOSPC`, which the kernel means differently here than `io::ErrorKind` does.
const NO_SPACE: i32 = 28;
