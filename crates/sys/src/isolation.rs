//! Isolation of a new process: namespaces, maps of users, a control group, mounts, another root.
//!
//! The process that starts it prepares all of this; `spawn` carries it out between fork and exec.
//!
//! Between fork and exec the child joins the control group, mounts, changes the root and becomes the application's user
//! (`enter`). A failure comes back as a step and an error number, from which main knows the option. In a namespace of
//! processes, a prototype has other numbers for workers than main: it sends main a pidfd of each, and the kernel
//! translates.

mod enter;
mod join;

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::process::Pid;

pub use self::join::{join_mounts_of, own_namespace};
use crate::spawn::StartStep;

/// Everything that a process has for itself. The default is nothing.
#[derive(Debug, Default)]
pub struct Isolation {
    /// Namespaces that are made with the process.
    pub namespaces: Namespaces,
    /// Users and groups of its user namespace, if it has one.
    pub maps: Option<IdMaps>,
    /// `cgroup.procs` of the group that it joins, open for writing.
    pub cgroup: Option<OwnedFd>,
    /// Mounts below its root, which need a mount namespace.
    pub mounts: Vec<Mount>,
    /// Another root.
    pub root: Option<Root>,
}

/// Namespaces of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub struct Namespaces {
    /// Users, groups and capabilities; it owns the others.
    pub user: bool,
    /// Processes: it is the first of them.
    pub pid: bool,
    /// Network.
    pub network: bool,
    /// Mounts.
    pub mount: bool,
    /// Host name.
    pub uts: bool,
    /// Control groups, with its own as the root.
    pub cgroup: bool,
}

impl Namespaces {
    /// The flags of clone(2). The one of control groups is made later, when it has joined its own.
    pub(crate) fn clone_flags(self) -> libc::c_int {
        let flags = [
            (self.user, libc::CLONE_NEWUSER),
            (self.pid, libc::CLONE_NEWPID),
            (self.network, libc::CLONE_NEWNET),
            (self.mount, libc::CLONE_NEWNS),
            (self.uts, libc::CLONE_NEWUTS),
        ];
        flags.into_iter().filter(|(is_wanted, _)| *is_wanted).fold(0, |all, (_, flag)| all | flag)
    }
}

/// Users and groups of a user namespace, one range in each line (user_namespaces(7)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdMaps {
    /// For `uid_map`.
    pub users: String,
    /// For `gid_map`.
    pub groups: String,
    /// Whether supplementary groups may be set; a process without privileges may not keep that right.
    pub may_set_groups: bool,
}

impl IdMaps {
    /// Writes them for a process that waits for them.
    pub(crate) fn write(&self, pid: Pid) -> Result<(), (StartStep, io::Error)> {
        let write = |name: &str, text: &str| {
            let path = format!("/proc/{}/{name}", pid.as_raw_nonzero());
            // The kernel takes a map in one piece.
            File::options().write(true).open(path)?.write_all(text.as_bytes())
        };
        if !self.may_set_groups {
            write("setgroups", "deny").map_err(|error| (StartStep::GroupMap, error))?;
        }
        write("uid_map", &self.users).map_err(|error| (StartStep::UserMap, error))?;
        write("gid_map", &self.groups).map_err(|error| (StartStep::GroupMap, error))
    }
}

/// Something to mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The tree or file system to mount.
    pub source: Source,
    /// Where: a path below the root, which exists.
    pub target: CString,
    /// How. Programs there never run with their owner's privileges.
    pub restrictions: Restrictions,
}

/// A tree or file system that is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The tree at this path outside, with all that is mounted below it.
    Tree(CString),
    /// A new `/proc`.
    Processes,
    /// Memory that every process may write to, of this size (tmpfs(5)).
    Memory(CString),
}

/// Operations that are not permitted on a mount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Restrictions {
    /// Changing anything.
    pub read_only: bool,
    /// Opening devices.
    pub no_devices: bool,
    /// Running programs.
    pub no_programs: bool,
}

/// Another root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The folder.
    pub path: CString,
    /// Whether the old one is unmounted, which needs a mount namespace, or only left (chroot).
    pub unmount_old: bool,
}
