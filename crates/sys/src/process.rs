//! This process: title, limits, threads, its place among other processes.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

use rustix::process::{Pid, Resource, Rlimit, Signal};

static ARGC: AtomicI32 = AtomicI32::new(0);
static ARGV: AtomicPtr<*mut libc::c_char> = AtomicPtr::new(std::ptr::null_mut());

/// Bytes of all arguments, once they were counted: a title takes their ends away.
static ARGUMENT_BYTES: AtomicUsize = AtomicUsize::new(0);

/// How many descriptors from [`FIRST_INHERITED`] on the program was started with, until they are taken.
static N_INHERITED: AtomicI32 = AtomicI32::new(0);

/// Behind standard input, output and error.
const FIRST_INHERITED: RawFd = 3;

/// The descriptor on which every child of main finds its end of a socket pair.
pub const LINK_DESCRIPTOR: RawFd = FIRST_INHERITED;

/// More than any service manager gives.
const MAX_INHERITED: i32 = 1024;

/// Remembers where the kernel put the arguments, and what was open before any code could open
/// something. glibc calls initialisers with the arguments of `main`.
extern "C" fn remember_start(
    argc: libc::c_int,
    argv: *mut *mut libc::c_char,
    _environment: *mut *mut libc::c_char,
) {
    ARGC.store(argc, Ordering::Relaxed);
    ARGV.store(argv, Ordering::Relaxed);
    // SAFETY: only asks for a flag; on a closed descriptor it fails.
    let is_open = |fd: &RawFd| unsafe { libc::fcntl(*fd, libc::F_GETFD) } >= 0;
    let n_open = (FIRST_INHERITED..FIRST_INHERITED + MAX_INHERITED).take_while(is_open).count();
    N_INHERITED.store(n_open as i32, Ordering::Relaxed);
}

#[used]
// SAFETY: the section holds pointers to functions with this signature, which glibc calls once
// before `main`; this one makes a system call and stores three words.
#[unsafe(link_section = ".init_array")]
static REMEMBER_START: extern "C" fn(libc::c_int, *mut *mut libc::c_char, *mut *mut libc::c_char) =
    remember_start;

/// Takes [`LINK_DESCRIPTOR`] as the program was started with it; close-on-exec from now on.
///
/// # Errors
/// `NotFound` when it was not open at the start or was taken already.
pub fn take_link_descriptor() -> io::Result<OwnedFd> {
    take_inherited_descriptors(1).map(|mut taken| taken.remove(0)).map_err(|_| {
        let reason = format!("descriptor {LINK_DESCRIPTOR} was not handed to this process");
        io::Error::new(io::ErrorKind::NotFound, reason)
    })
}

/// Puts another descriptor in the place of the one that [`take_link_descriptor`] gave, whose owner has this one then.
///
/// # Errors
/// The errors of dup3(2).
pub fn replace_link_descriptor(with: impl AsFd) -> io::Result<()> {
    // SAFETY: closes what has the number, and gives that to what takes its place: its owner goes on with that.
    let failed = unsafe { libc::dup3(with.as_fd().as_raw_fd(), LINK_DESCRIPTOR, libc::O_CLOEXEC) } < 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes the first descriptors behind standard error, as the program was started with them; close-on-exec from now on.
/// This can be done once.
///
/// # Errors
/// `NotFound` when fewer were open at the start, or some were taken already.
pub fn take_inherited_descriptors(n: u16) -> io::Result<Vec<OwnedFd>> {
    let n = i32::from(n);
    if n == 0 {
        return Ok(Vec::new());
    }
    if N_INHERITED.load(Ordering::Relaxed) < n || N_INHERITED.swap(0, Ordering::Relaxed) < n {
        let reason = format!("{n} descriptors were not handed to this process");
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    let numbers = FIRST_INHERITED..FIRST_INHERITED + n;
    let take = |number| {
        // SAFETY: it was open before the first line of the program ran, so whatever owns descriptors
        // in this program got others; and the swap above lets only one caller come here.
        let fd = unsafe { OwnedFd::from_raw_fd(number) };
        rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)?;
        Ok(fd)
    };
    numbers.map(take).collect()
}

/// Sets what `ps` shows, cut to the room of the original arguments, and the kernel's short name.
///
/// `std::env::args` returns pieces of the title from then on, so read the arguments before.
/// Does nothing but the short name when other threads run, which could be reading them.
pub fn set_title(title: &str) -> io::Result<()> {
    let short = title.trim_start_matches("corral: ");
    let short = CString::new(short.chars().take(15).filter(|c| *c != '\0').collect::<String>())
        .expect("NULs were taken out");
    rustix::thread::set_name(&short)?;
    if is_single_threaded() {
        overwrite_arguments(title.as_bytes());
    }
    Ok(())
}

fn overwrite_arguments(title: &[u8]) {
    let Some((start, len)) = argument_area() else {
        return;
    };
    let n_copied = title.len().min(len - 1);
    // SAFETY: `argument_area` returned `len` writable bytes that the kernel gave this process for its arguments. This
    // is the only thread, so nothing reads them meanwhile, and `title` cannot overlap them: it is a Rust slice, and the
    // arguments are reachable by copies only.
    unsafe { std::ptr::copy_nonoverlapping(title.as_ptr(), start, n_copied) };
    // SAFETY: `n_copied < len`, so this is inside the same area.
    let rest = unsafe { start.add(n_copied) };
    // SAFETY: the rest of the same area. It is at least one NUL, so every argument pointer still
    // leads to a terminated string.
    unsafe { std::ptr::write_bytes(rest, 0, len - n_copied) };
}

/// The bytes of all arguments, which the kernel lays out one behind the other.
fn argument_area() -> Option<(*mut u8, usize)> {
    let argv = ARGV.load(Ordering::Relaxed);
    let argc = usize::try_from(ARGC.load(Ordering::Relaxed)).ok().filter(|argc| *argc > 0)?;
    if argv.is_null() {
        return None;
    }
    // SAFETY: `argv` is the array of `argc` pointers that `main` got; it lives as long as the process.
    let arguments = unsafe { std::slice::from_raw_parts(argv, argc) };
    let start = arguments[0];
    let known = ARGUMENT_BYTES.load(Ordering::Relaxed);
    if known > 0 {
        return Some((start.cast(), known));
    }
    let mut end = start;
    for argument in arguments {
        if *argument != end {
            break; // something has rearranged them: use the part that is contiguous
        }
        // SAFETY: each element is a NUL-terminated string.
        let len = unsafe { libc::strlen(*argument) };
        // SAFETY: one past the terminator of a string is at most one past its allocation.
        end = unsafe { argument.add(len + 1) };
    }
    let len = (end as usize).checked_sub(start as usize)?;
    ARGUMENT_BYTES.store(len, Ordering::Relaxed);
    (len > 0).then_some((start.cast(), len))
}

/// Whether this process has one thread.
pub fn is_single_threaded() -> bool {
    // Each thread is a folder here, and a folder has a link for itself, one for its `.` and one for
    // the `..` of each folder in it.
    let tasks = std::fs::metadata("/proc/self/task").map(|tasks| tasks.nlink());
    tasks.map_or_else(|_| is_single_threaded_to_libc(), |n_links| n_links == 3)
}

/// The C library's knowledge of threads, for a process without `/proc`. musl does not say, nor does a glibc before
/// 2.32.
fn is_single_threaded_to_libc() -> bool {
    // SAFETY: the name is NUL-terminated; looking for it has no effect.
    let answer = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr()) };
    // SAFETY: glibc defines it as one byte, which it writes only while this is the only thread: not 0 until the first
    // one is started through it.
    !answer.is_null() && unsafe { answer.cast::<libc::c_char>().read_volatile() } != 0
}

/// A descriptor for a child, by which others find it whatever namespace they are in.
///
/// # Errors
/// When it was collected already, or the system forbids such descriptors.
pub fn pidfd(child: Pid) -> io::Result<OwnedFd> {
    Ok(rustix::process::pidfd_open(child, rustix::process::PidfdFlags::empty())?)
}

/// The number that the process behind a pidfd has for this one; nothing if it has none, or is gone.
pub fn pid_behind(pidfd: &OwnedFd) -> Option<Pid> {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).ok()?;
    let number = info.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    number.trim().parse().ok().filter(|pid| *pid > 0).and_then(Pid::from_raw)
}

/// Makes this process the parent of descendants whose own parent has died.
pub fn become_subreaper() -> io::Result<()> {
    // Any non-null pid turns it on (prctl(2) takes it as a flag).
    Ok(rustix::process::set_child_subreaper(Some(Pid::INIT))?)
}

/// Whether this is the first process of its system or container, which ends with it.
pub fn is_first() -> bool {
    rustix::process::getpid() == Pid::INIT
}

/// The children of this process, which must have one thread. Empty where the kernel does not tell.
pub fn children() -> Vec<Pid> {
    let list = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// Has the kernel kill this process when its parent ends, which must be `parent`: then that has not ended yet.
///
/// # Errors
/// `NotFound` when it has.
pub fn end_with(parent: Pid) -> io::Result<()> {
    set_parent_death_signal(Signal::KILL)?;
    match rustix::process::getppid() == Some(parent) {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::NotFound, "the process that has made this one is gone")),
    }
}

/// Asks the kernel for a signal when the parent of this process dies.
pub fn set_parent_death_signal(signal: Signal) -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(signal))?)
}

/// Keeps other processes of the same user from tracing this one and from reading or writing its memory, and
/// the kernel from writing core files of it. Children have it from their parent, until they run another program.
pub fn set_undumpable() -> io::Result<()> {
    set_dumpable(rustix::process::DumpableBehavior::NotDumpable)
}

/// Has the kernel give this process memory in pages of the usual size, also where it gives huge ones unasked: of those,
/// all counts that is near what is used. Children have it from their parent, other programs too.
///
/// # Errors
/// The errors of prctl(2), `PR_SET_THP_DISABLE`.
pub fn refuse_huge_pages() -> io::Result<()> {
    Ok(rustix::thread::disable_transparent_huge_pages(true)?)
}

/// Makes the files of this process in `/proc` its own user's again, for a parent that has to write one.
/// Async-signal-safe.
pub(crate) fn set_dumpable_for_parent() -> io::Result<()> {
    set_dumpable(rustix::process::DumpableBehavior::Dumpable)
}

fn set_dumpable(behavior: rustix::process::DumpableBehavior) -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(behavior)?)
}

/// Raises the limit of open descriptors to what the system allows, and returns it.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    Ok(limit.maximum.unwrap_or(u64::MAX))
}

/// How many descriptors this process may have open.
pub fn descriptor_limit() -> u64 {
    rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Whether something failed because this process, or the system, has as many descriptors open as it may.
pub fn is_descriptor_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let number = error.raw_os_error();
    [Errno::MFILE, Errno::NFILE].iter().any(|shortage| number == Some(shortage.raw_os_error()))
}

/// Sets the mask of permissions that new files do not get, for the whole process.
pub fn set_umask(mask: u32) {
    rustix::process::umask(rustix::fs::Mode::from_bits_truncate(mask));
}

/// The mask of permissions that new files do not get, as the kernel tells it without changing it.
pub fn umask() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(mask.trim(), 8).ok()
}

/// Puts a descriptor in place of standard input, output or error.
pub fn replace_standard(stream: Standard, with: impl AsFd) -> io::Result<()> {
    match stream {
        Standard::Input => rustix::stdio::dup2_stdin(with)?,
        Standard::Output => rustix::stdio::dup2_stdout(with)?,
        Standard::Error => rustix::stdio::dup2_stderr(with)?,
    }
    Ok(())
}

/// One of the three standard streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standard {
    /// Descriptor 0.
    Input,
    /// Descriptor 1.
    Output,
    /// Descriptor 2.
    Error,
}

/// Has a program run in a session of its own, with no terminal that it could open or type into.
pub fn in_own_session(command: &mut std::process::Command) {
    // SAFETY: setsid(2) is async-signal-safe, and nothing else is done between fork and exec.
    unsafe { command.pre_exec(new_session) };
}

/// Leaves the terminal's session: this process gets a session of its own. Async-signal-safe.
pub fn new_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// The kernel's number of this thread, as in log lines.
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_found() {
        let (start, len) = argument_area().unwrap();
        // SAFETY: the area that the function under test describes.
        let bytes = unsafe { std::slice::from_raw_parts(start, len) };
        let expected: Vec<u8> =
            std::env::args().flat_map(|argument| (argument + "\0").into_bytes()).collect();
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_title_in_a_threaded_process_changes_the_short_name_only() {
        let before = std::fs::read("/proc/self/cmdline").unwrap();
        set_title("corral: a \"rather long\" title").unwrap();
        assert_eq!(std::fs::read("/proc/self/cmdline").unwrap(), before);
        let name = std::fs::read_to_string(format!("/proc/self/task/{}/comm", thread_id())).unwrap();
        assert_eq!(name, "a \"rather long\"\n");
    }

    #[test]
    fn the_harness_has_threads() {
        assert!(!is_single_threaded());
        assert!(!is_single_threaded_to_libc());
    }

    #[test]
    fn the_mask_is_that_of_new_files() {
        set_umask(0o27);
        assert_eq!(umask(), Some(0o27));
        set_umask(0o22);
        assert_eq!(umask(), Some(0o22));
    }

    #[test]
    fn the_descriptor_limit_is_raised() {
        let limit = raise_descriptor_limit().unwrap();
        assert!(limit >= 256);
        assert_eq!(descriptor_limit(), limit);
    }
}
