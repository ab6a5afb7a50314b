//! How an application is set apart from the rest of the machine (contract 21, and what Corral adds to it).

use std::num::NonZeroU64;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Everything that `isolation` says. Without it, an application has its user and nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// Namespaces of its own.
    pub namespaces: Namespaces,
    /// Users inside of the user namespace; empty means those that the application needs, unchanged.
    pub uidmap: Vec<IdRange>,
    /// Groups, likewise.
    pub gidmap: Vec<IdRange>,
    /// The folder that is `/` for the application; absolute, and not `/`.
    pub rootfs: Option<PathBuf>,
    /// The parts of the system that are mounted in `rootfs`.
    pub automount: Automount,
    /// Whether programs that it starts can gain privileges, if the document says so.
    pub new_privs: Option<bool>,
    /// The control group of the application.
    pub cgroup: Option<Cgroup>,
    /// System calls that are refused.
    pub seccomp: Option<SeccompProfile>,
    /// The only files that it can reach.
    pub filesystem: Option<FilesystemAccess>,
}

/// Which namespaces an application has for itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each stands for one option of the document")]
pub struct Namespaces {
    /// Users and groups.
    pub credential: bool,
    /// Processes.
    pub pid: bool,
    /// Network interfaces, addresses, routes, abstract sockets.
    pub network: bool,
    /// Mounts.
    pub mount: bool,
    /// Host name.
    pub uname: bool,
    /// The view of control groups.
    pub cgroup: bool,
}

impl Namespaces {
    /// The names of the wanted namespaces' options.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("credential", self.credential),
            ("pid", self.pid),
            ("network", self.network),
            ("mount", self.mount),
            ("uname", self.uname),
            ("cgroup", self.cgroup),
        ];
        all.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(name, _)| name)
    }
}

/// Numbers of users or groups inside of a namespace, and those that they are outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdRange {
    /// The first inside.
    pub container: u32,
    /// The first outside.
    pub host: u32,
    /// How many; neither range goes beyond the greatest number.
    pub size: u32,
}

impl IdRange {
    /// Whether a number has a meaning inside.
    #[must_use]
    pub fn holds(&self, id: u32) -> bool {
        id.checked_sub(self.container).is_some_and(|offset| offset < self.size)
    }
}

/// The parts of the system that are mounted in a `rootfs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Automount {
    /// The files that the language consists of, to be read only.
    pub language_deps: bool,
    /// `/proc`
    pub procfs: bool,
    /// `/tmp`, in memory.
    pub tmpfs: bool,
}

impl Default for Automount {
    fn default() -> Self {
        Self { language_deps: true, procfs: true, tmpfs: true }
    }
}

/// A control group, version 2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroup {
    /// Below main's own group, or below the root when it is absolute. Has no `..`.
    pub path: PathBuf,
    /// Bounds on all processes of the application together.
    pub limits: CgroupLimits,
}

/// Bounds of a control group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupLimits {
    /// Bytes of memory.
    pub memory: Option<NonZeroU64>,
    /// Thousandths of a processor.
    pub cpu: Option<NonZeroU64>,
    /// Processes and threads, the prototype included.
    pub pids: Option<NonZeroU64>,
}

/// A set of system calls that are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SeccompProfile {
    /// System calls that no web application needs, and attacks on kernels often use.
    Default,
}

/// Files that can be reached, besides those that the language itself consists of and the roots of its targets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesystemAccess {
    /// Folders and files that can be read and run.
    pub read: Vec<PathBuf>,
    /// Folders and files that can be changed, too.
    pub write: Vec<PathBuf>,
}
