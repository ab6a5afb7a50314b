//! A process of the daemon itself that was taken over: a test has its end of the link to main, beside the process.

use corral_ipc::link::Link;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, getuid, pidfd_getfd, pidfd_open};

/// A duplicate of the end of the link to main that a process of a daemon has.
///
/// # Panics
/// When it does not run, or this process is not root's: only root can have it.
#[must_use]
#[track_caller]
pub fn link_of(pid: u32) -> Link {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
    let process = pidfd_open(pid, PidfdFlags::empty()).expect("it runs");
    let link = pidfd_getfd(&process, 3, PidfdGetfdFlags::empty());
    Link::from(link.expect("the link is descriptor 3"))
}

/// Whether a test may take a link; says so if it may not.
#[must_use]
pub fn can_take_links() -> bool {
    let is_root = getuid().is_root();
    if !is_root {
        eprintln!("not root: nothing was tested");
    }
    is_root
}
