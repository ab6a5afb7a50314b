//! The child's side of isolation. Everything here is async-signal-safe: system calls on prepared memory.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags,
};

use super::{Isolation, Mount, Restrictions, Root, Source};
use crate::spawn::StartStep;

impl Isolation {
    /// Joins the control group and changes the mounts and the root, in the namespaces that the
    /// process was made with.
    pub(crate) fn enter(&self) -> Result<(), (StartStep, io::Error)> {
        self.join_cgroup()?;
        if self.namespaces.mount {
            // What is mounted outside later is seen; what is mounted here stays here.
            let propagation = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
            rustix::mount::mount_change(c"/", propagation)
                .map_err(|errno| (StartStep::Propagation, errno.into()))?;
        }
        let place = self.open_root().map_err(|error| (StartStep::Root, error))?;
        for (idx, mount) in (0..).zip(&self.mounts) {
            mount.attach(place.as_fd()).map_err(|error| (StartStep::Mount(idx), error))?;
        }
        if let Some(root) = &self.root {
            root.enter(place.as_fd()).map_err(|error| (StartStep::ChangeRoot, error))?;
        }
        Ok(())
    }

    fn join_cgroup(&self) -> Result<(), (StartStep, io::Error)> {
        if let Some(cgroup) = &self.cgroup {
            // 0 is the writing process.
            rustix::io::write(cgroup, b"0").map_err(|errno| (StartStep::Cgroup, errno.into()))?;
        }
        // SAFETY: gives this process, which has one thread, another view of control groups.
        if self.namespaces.cgroup && unsafe { libc::unshare(libc::CLONE_NEWCGROUP) } < 0 {
            return Err((StartStep::CgroupNamespace, io::Error::last_os_error()));
        }
        Ok(())
    }

    /// The folder below which things are mounted.
    fn open_root(&self) -> io::Result<OwnedFd> {
        let path = self.root.as_ref().map_or(c"/", |root| &root.path);
        if self.root.as_ref().is_some_and(|root| root.unmount_old) {
            // Only a mount can become the root.
            rustix::mount::mount_bind_recursive(path, path)?;
        }
        Ok(rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
    }
}

impl Root {
    fn enter(&self, folder: BorrowedFd<'_>) -> io::Result<()> {
        rustix::process::fchdir(folder)?;
        if self.unmount_old {
            // The new root is put on top of the old one, which is then unmounted from above it (pivot_root(2)).
            rustix::process::pivot_root(c".", c".")?;
            rustix::mount::unmount(c".", UnmountFlags::DETACH)?;
        } else {
            rustix::process::chroot(c".")?;
        }
        Ok(rustix::process::chdir(c"/")?)
    }
}

impl Mount {
    fn attach(&self, root: BorrowedFd<'_>) -> io::Result<()> {
        let tree = self.source.open(self.restrictions.flags())?;
        // Links lead nowhere but below the root.
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let target = rustix::fs::openat2(root, &*self.target, flags, Mode::empty(), ResolveFlags::IN_ROOT)?;
        let empty_paths = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(rustix::mount::move_mount(tree, c"", target, c"", empty_paths)?)
    }
}

impl Source {
    /// A mount that is nowhere yet.
    fn open(&self, attributes: MountAttrFlags) -> io::Result<OwnedFd> {
        match self {
            Self::Tree(path) => {
                let flags = OpenTreeFlags::OPEN_TREE_CLONE
                    | OpenTreeFlags::OPEN_TREE_CLOEXEC
                    | OpenTreeFlags::AT_RECURSIVE;
                let tree = rustix::mount::open_tree(CWD, &**path, flags)?;
                set_attributes(tree.as_fd(), attributes)?;
                Ok(tree)
            }
            Self::Processes => {
                let fs = rustix::mount::fsopen(c"proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
                create(fs.as_fd(), attributes)
            }
            Self::Memory(size) => {
                let fs = rustix::mount::fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
                rustix::mount::fsconfig_set_string(&fs, c"size", &**size)?;
                rustix::mount::fsconfig_set_string(&fs, c"mode", c"1777")?;
                create(fs.as_fd(), attributes)
            }
        }
    }
}

fn create(fs: BorrowedFd<'_>, attributes: MountAttrFlags) -> io::Result<OwnedFd> {
    rustix::mount::fsconfig_create(fs)?;
    Ok(rustix::mount::fsmount(fs, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// Restricts a mount and all that are below it. Needs Linux 5.12.
fn set_attributes(tree: BorrowedFd<'_>, attributes: MountAttrFlags) -> io::Result<()> {
    let change = MountAttr { set: attributes.bits().into(), clear: 0, propagation: 0, user_namespace: 0 };
    // SAFETY: the path is NUL-terminated, and the structure and its size are those of mount_setattr(2).
    let failed = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const change,
            size_of::<MountAttr>(),
        )
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

impl Restrictions {
    fn flags(self) -> MountAttrFlags {
        let mut flags = MountAttrFlags::MOUNT_ATTR_NOSUID;
        flags.set(MountAttrFlags::MOUNT_ATTR_RDONLY, self.read_only);
        flags.set(MountAttrFlags::MOUNT_ATTR_NODEV, self.no_devices);
        flags.set(MountAttrFlags::MOUNT_ATTR_NOEXEC, self.no_programs);
        flags
    }
}
