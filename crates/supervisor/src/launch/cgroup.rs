//! Control groups of applications (cgroups(7), version 2): made when they are needed, gone when they are empty.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use corral_config::plan::{Cgroup, CgroupLimits};

/// Why an application has no control group.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CgroupError {
    /// Control groups of version 2 are not mounted.
    #[error("control groups of version 2 are not mounted; mount them (mount -t cgroup2 none /sys/fs/cgroup)")]
    NotMounted,
    /// This process's own group, which relative paths begin at, is not below the mount.
    #[error("the daemon's own control group is not visible at {}; give an absolute path", mount.display())]
    OwnNotVisible {
        /// Where the hierarchy is mounted.
        mount: PathBuf,
    },
    /// The system has to hand the controller down first.
    #[error(
        "the controller \"{controller}\" is not available in {}: hand it down from above (echo +{controller} > \
         cgroup.subtree_control there; for a systemd service, Delegate=yes)",
        group.display()
    )]
    NoController {
        /// The controller's name.
        controller: &'static str,
        /// Where it is missing.
        group: PathBuf,
    },
    /// A group that holds processes cannot hand controllers down.
    #[error(
        "hand the controller \"{controller}\" down from {}; groups that hold processes of their own, such as the \
         daemon, cannot: give an absolute path elsewhere, or start the daemon in a group below (for a systemd \
         service, DelegateSubgroup=daemon)",
        group.display()
    )]
    HandDown {
        /// The controller's name.
        controller: &'static str,
        /// The group that cannot hand it down.
        group: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file or folder of the hierarchy.
    #[error("{what} {}", path.display())]
    File {
        /// The operation that failed.
        what: &'static str,
        /// The path of the file or folder.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The control groups that this process has made.
#[derive(Debug, Default)]
pub(super) struct Cgroups {
    made: Made,
}

type Made = Rc<RefCell<BTreeSet<PathBuf>>>;

/// One application's use of a group: when the last one ends, the group is removed.
#[derive(Debug)]
pub(crate) struct Membership {
    path: PathBuf,
    made: Made,
}

impl Cgroups {
    /// Whether such a group is possible at all.
    pub(super) fn check(cgroup: &Cgroup) -> Result<(), CgroupError> {
        Hierarchy::find()?.resolve(&cgroup.path).map(drop)
    }

    /// The path of a group from the root of the hierarchy on, for a process in another group than this one.
    pub(super) fn absolute(path: &Path) -> Result<PathBuf, CgroupError> {
        let hierarchy = Hierarchy::find()?;
        let resolved = hierarchy.resolve(path)?;
        Ok(Path::new("/").join(resolved.strip_prefix(&hierarchy.mount).unwrap_or(&resolved)))
    }

    /// Makes the group with its limits, and opens the file by which processes join it.
    pub(super) fn prepare(&self, cgroup: &Cgroup) -> Result<(Membership, OwnedFd), CgroupError> {
        self.prepare_at(&Hierarchy::find()?.resolve(&cgroup.path)?, cgroup.limits)
    }

    fn prepare_at(&self, path: &Path, limits: CgroupLimits) -> Result<(Membership, OwnedFd), CgroupError> {
        let membership = Membership { path: path.to_owned(), made: Rc::clone(&self.made) };
        let first_kept = self.make(path)?;
        let is_ours = self.made.borrow().contains(path);
        for (controller, file, value) in settings(limits) {
            hand_down(controller, &first_kept, path)?;
            write(&path.join(file), &value)?;
        }
        if limits.memory.is_some() {
            forbid_swap(path)?;
        }
        if is_ours {
            remove_limits(path, limits)?;
        }
        let file = path.join("cgroup.procs");
        let opened = File::options().write(true).open(&file);
        let file = opened.map_err(|source| CgroupError::File { what: "open", path: file, source })?;
        Ok((membership, file.into()))
    }

    /// Makes all folders that are not there; returns the lowest above `path` that was.
    fn make(&self, path: &Path) -> Result<PathBuf, CgroupError> {
        let missing: Vec<_> = path.ancestors().take_while(|group| !group.exists()).collect();
        let above = missing.last().copied().unwrap_or(path).parent().unwrap_or(path).to_owned();
        for group in missing.into_iter().rev() {
            let made = fs::create_dir(group);
            made.map_err(|source| CgroupError::File { what: "create", path: group.into(), source })?;
            self.made.borrow_mut().insert(group.to_owned());
        }
        Ok(above)
    }
}

/// Controllers, their files and what is written to them.
fn settings(limits: CgroupLimits) -> impl Iterator<Item = (&'static str, &'static str, String)> {
    let memory = limits.memory.map(|bytes| ("memory", "memory.max", bytes.to_string()));
    // Thousandths of a processor, in periods of 100 ms: microseconds.
    let quota = |cpu: NonZeroU64| format!("{} 100000", cpu.get().saturating_mul(100));
    let cpu = limits.cpu.map(|cpu| ("cpu", "cpu.max", quota(cpu)));
    let pids = limits.pids.map(|pids| ("pids", "pids.max", pids.to_string()));
    [memory, cpu, pids].into_iter().flatten()
}

/// Removes the limits that a configuration before this one may have set in a group of ours.
fn remove_limits(path: &Path, limits: CgroupLimits) -> Result<(), CgroupError> {
    let without = [
        ("memory.max", limits.memory.is_none()),
        ("memory.swap.max", limits.memory.is_none()),
        ("cpu.max", limits.cpu.is_none()),
        ("pids.max", limits.pids.is_none()),
    ];
    for (name, _) in without.iter().filter(|(name, is_unset)| *is_unset && path.join(name).exists()) {
        write(&path.join(name), "max")?;
    }
    Ok(())
}

/// Memory that is only moved out of the way would not count. Kernels without swap space have no such file.
fn forbid_swap(path: &Path) -> Result<(), CgroupError> {
    let swap = path.join("memory.swap.max");
    if swap.exists() { write(&swap, "0") } else { Ok(()) }
}

/// Makes a controller available in `path`, from the groups between it and `above`, which is included.
fn hand_down(controller: &'static str, above: &Path, path: &Path) -> Result<(), CgroupError> {
    let groups: Vec<_> = path.ancestors().skip(1).take_while(|group| group.starts_with(above)).collect();
    for group in groups.into_iter().rev() {
        let lists = |name: &str| {
            let text = fs::read_to_string(group.join(name)).unwrap_or_default();
            text.split_ascii_whitespace().any(|word| word == controller)
        };
        if lists("cgroup.subtree_control") {
            continue;
        }
        if !lists("cgroup.controllers") {
            return Err(CgroupError::NoController { controller, group: group.to_owned() });
        }
        fs::write(group.join("cgroup.subtree_control"), format!("+{controller}"))
            .map_err(|source| CgroupError::HandDown { controller, group: group.to_owned(), source })?;
    }
    Ok(())
}

fn write(path: &Path, value: &str) -> Result<(), CgroupError> {
    fs::write(path, value).map_err(|source| CgroupError::File {
        what: "write",
        path: path.to_owned(),
        source,
    })
}

impl Drop for Membership {
    fn drop(&mut self) {
        for group in self.path.ancestors() {
            let is_ours = self.made.borrow().contains(group);
            // Fails while another application uses the group; its membership removes it then.
            if !is_ours || fs::remove_dir(group).is_err() {
                return;
            }
            self.made.borrow_mut().remove(group);
        }
    }
}

/// Where control groups are, and this process among them.
struct Hierarchy {
    mount: PathBuf,
    own: Option<PathBuf>,
}

impl Hierarchy {
    fn find() -> Result<Self, CgroupError> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self::read(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup")).ok_or(CgroupError::NotMounted)
    }

    fn read(mountinfo: &str, cgroup: &str) -> Option<Self> {
        let (root, mount) = mountinfo.lines().find_map(|line| {
            let (fields, kind) = line.split_once(" - ")?;
            let mut fields = fields.split(' ').skip(3);
            kind.starts_with("cgroup2 ").then_some((fields.next()?, fields.next()?))
        })?;
        // The kernel writes a space in a path as \040.
        let mount = PathBuf::from(mount.replace("\\040", " "));
        let own = cgroup.lines().find_map(|line| line.strip_prefix("0::"))?;
        let below = Path::new(own).strip_prefix(root.replace("\\040", " ")).ok();
        let below = below.filter(|path| !path.components().any(|part| part.as_os_str() == ".."));
        Some(Self { own: below.map(|below| mount.join(below)), mount })
    }

    fn resolve(&self, path: &Path) -> Result<PathBuf, CgroupError> {
        match path.strip_prefix("/") {
            Ok(absolute) => Ok(self.mount.join(absolute)),
            Err(_) => {
                let own = self.own.as_ref();
                let own = own.ok_or_else(|| CgroupError::OwnNotVisible { mount: self.mount.clone() })?;
                Ok(own.join(path))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "23 28 0:21 / /proc rw - proc proc rw\n\
         34 33 0:30 /slice /sys/fs/cgroup\\040two rw,nosuid - cgroup2 cgroup rw\n";

    #[test]
    fn paths_begin_at_the_daemon_s_group_or_at_the_root() {
        let hierarchy = Hierarchy::read(MOUNTS, "4:memory:/x\n0::/slice/corral.service\n").unwrap();
        let resolve = |path: &str| hierarchy.resolve(path.as_ref()).unwrap();
        assert_eq!(resolve("a/b"), Path::new("/sys/fs/cgroup two/corral.service/a/b"));
        assert_eq!(resolve("/a"), Path::new("/sys/fs/cgroup two/a"));
        let outside = Hierarchy::read(MOUNTS, "0::/other\n").unwrap();
        assert!(matches!(outside.resolve("a".as_ref()), Err(CgroupError::OwnNotVisible { .. })));
        assert!(outside.resolve("/a".as_ref()).is_ok());
        assert!(Hierarchy::read("23 28 0:21 / /proc rw - proc proc rw\n", "0::/\n").is_none());
    }

    fn limits() -> CgroupLimits {
        let number = |n| NonZeroU64::new(n);
        CgroupLimits { memory: number(1 << 20), cpu: number(1500), pids: number(7) }
    }

    /// A folder with the files that the kernel would put into a group, as far as they matter here.
    fn group(controllers: &str, handed_down: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup.controllers"), controllers).unwrap();
        fs::write(folder.path().join("cgroup.subtree_control"), handed_down).unwrap();
        folder
    }

    #[test]
    fn limits_are_written_in_the_kernel_s_units() {
        let above = group("cpu memory pids", "cpu memory pids");
        let path = above.path().join("app");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("cgroup.procs"), "").unwrap();
        fs::write(path.join("memory.swap.max"), "max").unwrap();
        let cgroups = Cgroups::default();
        let (membership, _) = cgroups.prepare_at(&path, limits()).unwrap();
        let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
        assert_eq!(
            [read("memory.max"), read("cpu.max"), read("pids.max")],
            ["1048576", "150000 100000", "7"]
        );
        assert_eq!(read("memory.swap.max"), "0");
        drop(membership);
        assert!(path.exists(), "it was there before");
    }

    #[test]
    fn a_controller_that_is_lacking_is_named() {
        let above = group("cpu", "cpu");
        let cgroups = Cgroups::default();
        let error = cgroups.prepare_at(&above.path().join("app"), limits()).unwrap_err();
        assert!(error.to_string().starts_with("the controller \"memory\" is not available in"), "{error}");
        assert!(!above.path().join("app").exists(), "what was made for nothing is removed");
    }
}
