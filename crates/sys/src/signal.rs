//! Signals as a descriptor, sending them, and how children ended.

use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

pub use rustix::process::{Pid, Signal};

/// Signals that are blocked in this process and read from a descriptor instead.
#[derive(Debug)]
pub struct SignalFd {
    file: std::fs::File,
}

impl SignalFd {
    /// Blocks `signals` in the calling thread and every thread that it starts from now on, so call
    /// this before any thread is started. Non-blocking, close-on-exec.
    pub fn new(signals: &[Signal]) -> io::Result<Self> {
        let set = signal_set(signals);
        // SAFETY: `set` is an initialised set and a null old mask is allowed; the call changes
        // nothing but this thread's mask.
        let failed = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
        if failed != 0 {
            return Err(io::Error::from_raw_os_error(failed));
        }
        // SAFETY: -1 asks for a new descriptor and `set` is an initialised set that is only read.
        let fd = unsafe { libc::signalfd(-1, &set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor and nothing else knows it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { file: fd.into() })
    }

    /// The number of the next pending signal, or `None` when there is none.
    pub fn next_signal(&mut self) -> io::Result<Option<i32>> {
        let mut info = [0; size_of::<libc::signalfd_siginfo>()];
        match self.file.read(&mut info) {
            Ok(len) if len == info.len() => {
                // `ssi_signo` is the first member, a u32 (signalfd(2)).
                let number = u32::from_ne_bytes([info[0], info[1], info[2], info[3]]);
                Ok(i32::try_from(number).ok())
            }
            Ok(_) => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for SignalFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Whether this process ignores a signal, as one that was started by `nohup` ignores SIGHUP.
#[must_use]
pub fn is_ignored(signal: Signal) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: a null new action changes nothing, and `action` has room for the current one.
    let failed = unsafe { libc::sigaction(signal.as_raw(), std::ptr::null(), action.as_mut_ptr()) };
    if failed != 0 {
        return false;
    }
    // SAFETY: the call has succeeded, so it has filled `action`.
    let action = unsafe { action.assume_init() };
    action.sa_sigaction == libc::SIG_IGN
}

fn signal_set(signals: &[Signal]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the whole set that the valid pointer leads to.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for signal in signals {
        // SAFETY: the set is initialised, and a `Signal` is a valid signal number.
        unsafe { libc::sigaddset(set.as_mut_ptr(), signal.as_raw()) };
    }
    // SAFETY: `sigemptyset` above initialised it.
    unsafe { set.assume_init() }
}

/// Unblocks signals in the child of a `fork` without `exec`: those that the parent had blocked for its [`SignalFd`]
/// reach the child again, with default actions except where they were ignored.
pub fn unblock_all() -> io::Result<()> {
    let set = signal_set(&[]);
    // SAFETY: `set` is an initialised set and a null old mask is allowed.
    match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &set, std::ptr::null_mut()) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Gives every signal its default action and unblocks it. For a child between fork and exec, which
/// would otherwise hand on what was ignored (Rust ignores SIGPIPE) or blocked. Async-signal-safe.
pub(crate) fn reset_all() {
    for number in 1..=libc::SIGRTMAX() {
        // SAFETY: SIG_DFL installs no code of ours. The C library refuses KILL, STOP and the
        // numbers that it keeps for itself with EINVAL, which changes nothing.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
    let set = signal_set(&[]);
    // SAFETY: `set` is an initialised set and a null old mask is allowed.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &set, std::ptr::null_mut()) };
}

/// Gives faults of memory their default action. Rust's standard library has a handler that looks for overflows of its
/// threads' stacks, and returns from the first signal of any other kind, as the instruction would fault again: one that
/// kill(2) sent is swallowed.
pub fn default_faults() {
    for number in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: SIG_DFL installs no code of ours.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
}

/// Set when this process was asked to end.
static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

/// The process that is to be asked; its children are ended by the signal as ever.
static ASKED: AtomicI32 = AtomicI32::new(0);

/// Wakes the threads of this process that sleep.
static WAKE: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// From now on SIGTERM does not end this process but is noted, and ends a system call that waits; then `wake` is
/// called, for threads that have looked before and are only about to wait. Processes that it forks are ended by it,
/// unless they call this too. The `wake` of the first call stays.
///
/// # Errors
/// Errors of sigaction(2).
///
/// # Safety
/// `wake` does nothing but what a signal handler may (signal-safety(7)): it takes no lock and no memory, and leaves
/// errno alone.
pub unsafe fn note_termination(wake: impl Fn() + Send + Sync + 'static) -> io::Result<()> {
    // A second call finds the first one's, which is as good.
    let _ = WAKE.set(Box::new(wake));
    ASKED.store(std::process::id().cast_signed(), Ordering::Relaxed);
    // SAFETY: zeros are a value of this structure of numbers and a set.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_termination as extern "C" fn(libc::c_int) as usize;
    // SAFETY: the handler does only what a signal handler may.
    match unsafe { libc::sigaction(libc::SIGTERM, &raw const action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether SIGTERM has come since [`note_termination`].
pub fn is_termination_noted() -> bool {
    ASKED_TO_END.load(Ordering::Relaxed)
}

extern "C" fn on_termination(number: libc::c_int) {
    // SAFETY: async-signal-safe, and cannot fail.
    if unsafe { libc::getpid() } == ASKED.load(Ordering::Relaxed) {
        ASKED_TO_END.store(true, Ordering::Relaxed);
        // `WAKE` was set before this handler was, so it is not being set now.
        return WAKE.get().into_iter().for_each(|wake| wake());
    }
    // SAFETY: async-signal-safe; installs no code of ours.
    unsafe { libc::signal(number, libc::SIG_DFL) };
    // SAFETY: async-signal-safe; takes effect when this handler returns.
    unsafe { libc::raise(number) };
}

/// Sends a signal to one process.
///
/// # Errors
/// `NotFound`-like `ESRCH` when it is gone already, `PermissionDenied` when it belongs to another
/// user.
pub fn kill(pid: Pid, signal: Signal) -> io::Result<()> {
    Ok(rustix::process::kill_process(pid, signal)?)
}

/// Sends a signal to the process behind a pidfd, and never to another one that has its number by now.
///
/// # Errors
/// As [`kill`].
pub fn kill_behind(pidfd: BorrowedFd<'_>, signal: Signal) -> io::Result<()> {
    Ok(rustix::process::pidfd_send_signal(pidfd, signal)?)
}

/// Sends a signal to a process group.
///
/// # Errors
/// As [`kill`].
pub fn kill_group(leader: Pid, signal: Signal) -> io::Result<()> {
    Ok(rustix::process::kill_process_group(leader, signal)?)
}

/// Sends a signal to a process if it is a child of this one; says whether it is. For numbers that an
/// untrusted process reported: a child's number is not used again before its parent collects it.
pub fn kill_child(pid: Pid, signal: Signal) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let only_look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // Fails with `ECHILD` for anything that is not a child.
    waitid(WaitId::Pid(pid), only_look).is_ok() && kill(pid, signal).is_ok()
}

/// As [`kill_child`], to the process group that the child leads.
pub fn kill_child_group(leader: Pid, signal: Signal) -> bool {
    kill_child(leader, signal) && kill_group(leader, signal).is_ok()
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A change of a child's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildChange {
    /// The child is gone.
    Ended(Ended),
    /// A signal has stopped it, by which it is not gone but does nothing. Not reported of one that a debugger
    /// holds.
    Stopped,
    /// The child goes on after a stop.
    Continued,
}

/// Collects every child that has ended, and tells which have stopped or go on, without waiting.
pub fn changes() -> Vec<(Pid, ChildChange)> {
    use rustix::process::WaitOptions;
    let options = WaitOptions::NOHANG | WaitOptions::UNTRACED | WaitOptions::CONTINUED;
    let mut changes = Vec::new();
    // `ECHILD` (no child left) ends the loop like "nothing has changed": there is nothing to collect.
    while let Ok(Some((pid, status))) = rustix::process::wait(options) {
        let change = if status.stopped() {
            Some(ChildChange::Stopped)
        } else if status.continued() {
            Some(ChildChange::Continued)
        } else {
            how_ended(status).map(ChildChange::Ended)
        };
        changes.extend(change.map(|change| (pid, change)));
    }
    changes
}

/// Waits for one child.
///
/// # Errors
/// `ECHILD` when it is not a child of this process or was collected already.
pub fn wait_for(pid: Pid) -> io::Result<Ended> {
    loop {
        let waited = rustix::io::retry_on_intr(|| {
            rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty())
        })?;
        if let Some(how) = waited.and_then(|(_, status)| how_ended(status)) {
            return Ok(how);
        }
    }
}

fn how_ended(status: rustix::process::WaitStatus) -> Option<Ended> {
    let code = status.exit_status().map(Ended::Code);
    code.or_else(|| status.terminating_signal().map(Ended::Signal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_children_are_killed() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(kill_child(pid, Signal::KILL));
        child.wait().unwrap();
        assert!(!kill_child(pid, Signal::KILL), "it was collected");
        assert!(!kill_child(rustix::process::getpid(), Signal::KILL), "this is not a child");
    }

    #[test]
    fn a_blocked_signal_is_read_once() {
        // Directed at this thread: other tests run in other threads, which do not block it.
        let mut signals = SignalFd::new(&[Signal::USR2]).unwrap();
        assert_eq!(signals.next_signal().unwrap(), None);
        // SAFETY: takes nothing and cannot fail.
        let this_thread = unsafe { libc::pthread_self() };
        // SAFETY: the thread is this one and the signal is blocked in it, so nothing is run.
        assert_eq!(unsafe { libc::pthread_kill(this_thread, libc::SIGUSR2) }, 0);
        assert_eq!(signals.next_signal().unwrap(), Some(libc::SIGUSR2));
        assert_eq!(signals.next_signal().unwrap(), None);
    }
}
