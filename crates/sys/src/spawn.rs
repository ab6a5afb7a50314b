//! Starting processes: fork and exec with everything a child of ours needs set in between, and the
//! plain fork of a prototype.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;

use rustix::process::{Gid, Pid};

use crate::signal;
use crate::user::{self, Credentials};

/// A program to start. The child has every signal unblocked with its default action, a process
/// group of its own, and no descriptors but those in `fds`.
#[derive(Debug)]
pub struct Program<'a> {
    /// The opened executable: an ELF file that the child need not be able to reach by path.
    pub executable: BorrowedFd<'a>,
    /// Arguments, the name that `ps` shows first.
    pub argv: &'a [CString],
    /// The whole environment, `NAME=value` each.
    pub environment: &'a [CString],
    /// Directory to change to, after the credentials.
    pub working_directory: Option<&'a CStr>,
    /// What to run as; `None` keeps this process's.
    pub credentials: Option<&'a Credentials>,
    /// Whether programs that the child starts can never gain privileges (`no_new_privs`).
    pub no_new_privileges: bool,
    /// Descriptors with the numbers that they have in the child. Others are closed.
    pub fds: &'a [(BorrowedFd<'a>, RawFd)],
}

/// What a child was doing when starting it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// Before there was a child.
    Fork = 1,
    /// Placing the descriptors.
    Descriptors = 2,
    /// Changing user and groups.
    Credentials = 3,
    /// Changing to the working directory.
    WorkingDirectory = 4,
    /// Running the program.
    Execute = 5,
}

impl Step {
    fn from_wire(byte: u8) -> Self {
        let steps = [Self::Descriptors, Self::Credentials, Self::WorkingDirectory, Self::Execute];
        steps.into_iter().find(|step| *step as u8 == byte).unwrap_or(Self::Fork)
    }
}

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
#[error("{}", match step {
    Step::Fork => "create a process",
    Step::Descriptors => "hand descriptors to the new process",
    Step::Credentials => "change to the user of the new process",
    Step::WorkingDirectory => "change to the working directory",
    Step::Execute => "run the executable",
})]
pub struct SpawnError {
    /// What failed.
    pub step: Step,
    /// How.
    #[source]
    pub source: io::Error,
}

impl Program<'_> {
    /// Starts the program and returns when it runs, or with what went wrong in the child.
    ///
    /// The calling process may have several threads; the child calls only what is allowed between
    /// fork and exec then.
    pub fn spawn(&self) -> Result<Pid, SpawnError> {
        let prepared = Prepared::new(self).map_err(|source| SpawnError { step: Step::Fork, source })?;
        let (report_reader, report_writer) = report_pipe()?;
        // SAFETY: the child runs `Prepared::run` alone, which neither allocates nor takes locks nor
        // unwinds, and never returns.
        let pid = match unsafe { libc::fork() } {
            -1 => return Err(SpawnError { step: Step::Fork, source: io::Error::last_os_error() }),
            0 => prepared.run(report_writer.as_fd()),
            pid => Pid::from_raw(pid).expect("fork returns a positive number to the parent"),
        };
        drop(report_writer);
        match read_report(report_reader) {
            None => Ok(pid),
            Some(error) => {
                let _ = signal::wait_for(pid);
                Err(error)
            }
        }
    }
}

/// A pipe that closes itself when the program is run, both ends above the numbers that children use.
fn report_pipe() -> Result<(OwnedFd, OwnedFd), SpawnError> {
    let pipe = || -> io::Result<_> {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        Ok((reader, out_of_the_way(writer.as_fd())?))
    };
    pipe().map_err(|source| SpawnError { step: Step::Fork, source })
}

/// Five bytes from the child: the step that failed and the error number.
fn read_report(reader: OwnedFd) -> Option<SpawnError> {
    let mut report = [0; 5];
    File::from(reader).read_exact(&mut report).ok()?;
    let [step, errno @ ..] = report;
    let source = io::Error::from_raw_os_error(i32::from_ne_bytes(errno));
    Some(SpawnError { step: Step::from_wire(step), source })
}

/// Lowest number for descriptors that must survive while others are put in their places.
const OUT_OF_THE_WAY: RawFd = 64;

fn out_of_the_way(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, OUT_OF_THE_WAY)?)
}

/// Everything that the child needs, allocated before the fork.
struct Prepared<'a> {
    program: &'a Program<'a>,
    executable: OwnedFd,
    fds: Vec<(OwnedFd, RawFd)>,
    argv: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
    groups: Vec<Gid>,
}

impl<'a> Prepared<'a> {
    fn new(program: &'a Program<'a>) -> io::Result<Self> {
        debug_assert!(program.fds.iter().all(|(_, target)| (0..OUT_OF_THE_WAY).contains(target)));
        let mut fds = Vec::with_capacity(program.fds.len());
        for (fd, target) in program.fds {
            fds.push((out_of_the_way(*fd)?, *target));
        }
        let groups = program.credentials.map_or(&[][..], |credentials| &credentials.groups);
        Ok(Self {
            program,
            executable: out_of_the_way(program.executable)?,
            fds,
            argv: null_terminated(program.argv),
            environment: null_terminated(program.environment),
            groups: groups.iter().map(|group| Gid::from_raw(*group)).collect(),
        })
    }

    /// The child's side. Everything here is async-signal-safe: system calls on prepared memory.
    fn run(&self, report: BorrowedFd<'_>) -> ! {
        let (step, error) = self.try_run();
        let [a, b, c, d] = error.raw_os_error().unwrap_or(libc::EINVAL).to_ne_bytes();
        let _ = rustix::io::write(report, &[step as u8, a, b, c, d]);
        // SAFETY: ends the process at once, without running exit handlers of the parent's program.
        unsafe { libc::_exit(127) }
    }

    fn try_run(&self) -> (Step, io::Error) {
        signal::reset_all();
        // Its own group: the terminal's Ctrl-C is for the main process, which stops the others.
        let _ = rustix::process::setpgid(None, None);
        if let Err(error) = self.place_descriptors() {
            return (Step::Descriptors, error);
        }
        if let Some(credentials) = self.program.credentials
            && let Err(error) = user::assume(credentials.uid, credentials.gid, &self.groups)
        {
            return (Step::Credentials, error);
        }
        if self.program.no_new_privileges
            && let Err(errno) = rustix::thread::set_no_new_privs(true)
        {
            return (Step::Credentials, errno.into());
        }
        if let Some(directory) = self.program.working_directory
            && let Err(errno) = rustix::process::chdir(directory)
        {
            return (Step::WorkingDirectory, errno.into());
        }
        (Step::Execute, self.execute())
    }

    fn place_descriptors(&self) -> io::Result<()> {
        // Descriptors that this process itself inherited need not be close-on-exec. A kernel that
        // does not know the call (before 5.11) leaves them open, as any other program would.
        // SAFETY: only sets a flag on descriptors of this child.
        unsafe { libc::close_range(0, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as libc::c_int) };
        for (fd, target) in &self.fds {
            // SAFETY: closes whatever had that number in this child, which owns nothing there: its
            // own descriptors were moved out of the way, and the rest belongs to the parent's copy.
            if unsafe { libc::dup2(fd.as_raw_fd(), *target) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    fn execute(&self) -> io::Error {
        // SAFETY: both arrays end with a null pointer and hold pointers to NUL-terminated strings
        // that `program` keeps alive.
        unsafe { libc::fexecve(self.executable.as_raw_fd(), self.argv.as_ptr(), self.environment.as_ptr()) };
        io::Error::last_os_error()
    }
}

fn null_terminated(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// Which side of a fork this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    /// The process that called, with the new one's id.
    Parent(Pid),
    /// The new process, a copy of everything.
    Child,
}

/// Copies this process. Refuses in a process with several threads, whose locks the child could
/// find taken for ever.
pub fn fork() -> io::Result<Fork> {
    if !crate::process::is_single_threaded()? {
        return Err(io::Error::other("a process with several threads cannot be forked"));
    }
    // SAFETY: this is the only thread, so the copy is complete: no lock is held by a thread that
    // does not exist in the child.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(Pid::from_raw(pid).expect("fork returns a positive number to the parent"))),
    }
}

#[cfg(test)]
mod tests;
