//! Namespaces that are there already.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The namespace of this kind that this process is in, as the kernel names it.
#[must_use]
pub fn own_namespace(kind: &str) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/ns/{kind}")).ok()
}

/// Joins another process's namespace of mounts, for a process with one thread. The root there is its root and its
/// folder then.
///
/// # Errors
/// The errors of open(2) and setns(2).
pub fn join_mounts_of(pid: u32) -> io::Result<()> {
    let namespace = File::open(format!("/proc/{pid}/ns/mnt"))?;
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Mount))?)
}
