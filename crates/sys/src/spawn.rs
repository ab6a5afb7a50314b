//! Starting processes: fork and exec with everything a child of ours needs set in between, the
//! plain fork of a prototype, and that of an image, whose copy needs the same things.

mod heir;
mod step;

use std::convert::Infallible;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::process::{Gid, Pid};

pub use self::heir::{Identity, fork_heir};
pub use self::step::StartStep;
use crate::isolation::{IdMaps, Isolation};
use crate::user::{self, Credentials};
use crate::{landlock, process, signal, terminal};

/// A program to start. The child has every signal unblocked with its default action, a session and with it a process
/// group of its own, no terminal that controls it unless it is given one, and no descriptors but those in `fds`.
#[derive(Debug)]
pub struct Program<'a> {
    /// The program to run.
    pub executable: Executable<'a>,
    /// Arguments, the name that `ps` shows first.
    pub argv: &'a [CString],
    /// The whole environment, `NAME=value` each.
    pub environment: &'a [CString],
    /// A further variable, whose value is the child's process id as the child knows it.
    pub pid_variable: Option<&'a str>,
    /// Directory to change to, after the credentials.
    pub working_directory: Option<&'a CStr>,
    /// The user and groups to run as; `None` keeps this process's.
    pub credentials: Option<&'a Credentials>,
    /// Whether programs that the child starts can never gain privileges (`no_new_privs`).
    pub no_new_privileges: bool,
    /// A wall between it and other processes of its user (`landlock::wall`); needs `no_new_privileges`.
    pub wall: Option<BorrowedFd<'a>>,
    /// The isolation of the process; in a user namespace, `credentials` are numbers of that.
    pub isolation: Option<&'a Isolation>,
    /// Descriptors with the numbers that they have in the child. Others are closed.
    pub fds: &'a [(BorrowedFd<'a>, RawFd)],
    /// Whether its standard input is a terminal of no session, which controls that of the child from then on.
    pub controlling_terminal: bool,
}

/// The parent of a new process.
#[derive(Clone, Copy)]
enum Parent {
    This,
    /// The parent of this process.
    Same,
}

impl Parent {
    fn clone_flags(self) -> libc::c_int {
        match self {
            Self::This => 0,
            Self::Same => libc::CLONE_PARENT,
        }
    }
}

/// The program that a child runs.
#[derive(Debug, Clone, Copy)]
pub enum Executable<'a> {
    /// An opened ELF file, which the child need not be able to reach by path.
    Open(BorrowedFd<'a>),
    /// The path of a program or a script, as the child sees it from its working directory.
    Path(&'a CStr),
}

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
#[error("{step}")]
pub struct SpawnError {
    /// The step that failed.
    pub step: StartStep,
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
        self.spawn_under(Parent::This)
    }

    /// As [`Program::spawn`], but the new process is a child of this one's parent, which collects it: a sibling, whose
    /// life is none of this process's business. The first process of a namespace has no parent there, and cannot do
    /// this.
    ///
    /// The sibling's number may be that of another process as soon as it has ended.
    pub fn spawn_sibling(&self) -> Result<Pid, SpawnError> {
        self.spawn_under(Parent::Same)
    }

    fn spawn_under(&self, parent: Parent) -> Result<Pid, SpawnError> {
        let mut prepared = Prepared::new(self).map_err(failed_to(StartStep::Fork))?;
        let (report_reader, report_writer) = child_pipe().map_err(failed_to(StartStep::Fork))?;
        let (go_theirs, go_ours) = child_pair().map_err(failed_to(StartStep::Fork))?;
        let namespaces = self.isolation.map_or(0, |isolation| isolation.namespaces.clone_flags());
        // SAFETY: the child runs `Prepared::run` alone, which neither allocates nor takes locks nor
        // unwinds, and never returns.
        let pid = match unsafe { fork_into(namespaces | parent.clone_flags()) } {
            -1 => {
                let step = if namespaces == 0 { StartStep::Fork } else { StartStep::Namespaces };
                return Err(failed_to(step)(io::Error::last_os_error()));
            }
            0 => {
                drop(go_ours);
                prepared.run(report_writer.as_fd(), go_theirs.as_fd())
            }
            pid => Pid::from_raw(pid).expect("fork returns a positive number to the parent"),
        };
        drop((report_writer, go_theirs));
        if let Err(error) = self.let_go(pid, go_ours) {
            let _ = signal::kill(pid, signal::Signal::KILL);
            let _ = signal::wait_for(pid);
            return Err(error);
        }
        match read_report(report_reader) {
            None => Ok(pid),
            Some(error) => {
                // A sibling is collected by its parent.
                let _ = signal::wait_for(pid);
                Err(error)
            }
        }
    }

    /// Gives the child what only its parent can, and lets it go on.
    fn let_go(&self, child: Pid, go: OwnedFd) -> Result<(), SpawnError> {
        if let Some(maps) = self.maps() {
            // A child that has ended before says why in its report.
            let _ = rustix::io::read(&go, &mut [0; 1]);
            maps.write(child).map_err(|(step, source)| SpawnError { step, source })?;
        }
        // As above. Sent, as writing to a socket without a reader would be a signal.
        let _ = rustix::net::send(go, b"!", SendFlags::NOSIGNAL);
        Ok(())
    }

    /// The maps of its user namespace, if it gets one.
    fn maps(&self) -> Option<&IdMaps> {
        self.isolation.and_then(|isolation| isolation.maps.as_ref())
    }
}

fn failed_to(step: StartStep) -> impl FnOnce(io::Error) -> SpawnError {
    move |source| SpawnError { step, source }
}

/// `fork`, or with flags for namespaces or another parent clone(2), which returns in the child on a copy of this stack
/// too, but does not tell the C library.
///
/// # Safety
/// The child may only call what is async-signal-safe.
unsafe fn fork_into(flags: libc::c_int) -> libc::pid_t {
    if flags == 0 {
        // SAFETY: the caller promises the only thing that fork(2) asks of the child of several threads.
        return unsafe { libc::fork() };
    }
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without CLONE_VM nothing is shared, and without a stack the child goes on on its copy of
    // this one. The other arguments belong to flags that are not there, so their order, which depends
    // on the machine, does not matter.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    libc::pid_t::try_from(pid).expect("the kernel returns a process id")
}

/// A pipe that closes itself when the program is run, both ends above the numbers that children use.
fn child_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((out_of_the_way(reader.as_fd())?, out_of_the_way(writer.as_fd())?))
}

/// The same as a pair of sockets: either side may speak.
fn child_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    let (theirs, ours) = rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None)?;
    Ok((out_of_the_way(theirs.as_fd())?, out_of_the_way(ours.as_fd())?))
}

/// From the child: the step that failed and the error number.
fn read_report(reader: OwnedFd) -> Option<SpawnError> {
    let mut report = [0; step::WIRE_LEN + 4];
    File::from(reader).read_exact(&mut report).ok()?;
    let (step, errno) = report.split_first_chunk()?;
    let source = io::Error::from_raw_os_error(i32::from_ne_bytes(errno.try_into().ok()?));
    Some(SpawnError { step: StartStep::from_wire(*step), source })
}

/// Lowest number for descriptors that must survive while others are put in their places.
const OUT_OF_THE_WAY: RawFd = 16;

fn out_of_the_way(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    match rustix::io::fcntl_dupfd_cloexec(fd, OUT_OF_THE_WAY) {
        // So it is called if there may not be so many at all.
        Err(Errno::INVAL) => Err(Errno::MFILE.into()),
        moved => Ok(moved?),
    }
}

/// Everything that the child needs, allocated before the fork.
struct Prepared<'a> {
    program: &'a Program<'a>,
    executable: Option<OwnedFd>,
    wall: Option<OwnedFd>,
    fds: Vec<(OwnedFd, RawFd)>,
    argv: Vec<*const libc::c_char>,
    /// Ends with a null pointer, before which there is room for the variable with the process id.
    environment: Vec<*const libc::c_char>,
    own_pid: Option<PidText>,
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
        let executable = match program.executable {
            Executable::Open(file) => Some(out_of_the_way(file)?),
            Executable::Path(_) => None,
        };
        let mut environment = null_terminated(program.environment);
        environment.push(ptr::null());
        Ok(Self {
            program,
            executable,
            wall: program.wall.map(out_of_the_way).transpose()?,
            fds,
            argv: null_terminated(program.argv),
            environment,
            own_pid: program.pid_variable.map(PidText::new),
            groups: groups.iter().map(|group| Gid::from_raw(*group)).collect(),
        })
    }

    /// The child's side. Everything here is async-signal-safe: system calls on prepared memory.
    fn run(&mut self, report: BorrowedFd<'_>, go: BorrowedFd<'_>) -> ! {
        let (step, error) = match self.try_run(go) {
            Ok(never) => match never {},
            Err(failure) => failure,
        };
        let errno = error.raw_os_error().unwrap_or(libc::EINVAL).to_ne_bytes();
        let mut text = [0; step::WIRE_LEN + 4];
        text[..step::WIRE_LEN].copy_from_slice(&step.to_wire());
        text[step::WIRE_LEN..].copy_from_slice(&errno);
        let _ = rustix::io::write(report, &text);
        // SAFETY: ends the process at once, without running exit handlers of the parent's program.
        unsafe { libc::_exit(127) }
    }

    fn try_run(&mut self, go: BorrowedFd<'_>) -> Result<Infallible, (StartStep, io::Error)> {
        let failed = |step| move |error| (step, error);
        signal::reset_all();
        // Its own session has no terminal: what it runs can neither open /dev/tty nor type into it. The terminal's
        // Ctrl-C is for the main process, which stops the others by their groups, and each leads its own.
        process::new_session().map_err(failed(StartStep::Session))?;
        self.wait_for_parent(go).map_err(failed(StartStep::Fork))?;
        // Before low numbers are taken for the program's descriptors.
        if let Some(isolation) = self.program.isolation {
            isolation.enter()?;
        }
        self.place_descriptors().map_err(failed(StartStep::Descriptors))?;
        if self.program.controlling_terminal {
            terminal::control_session().map_err(failed(StartStep::Terminal))?;
        }
        self.assume_credentials().map_err(failed(StartStep::Credentials))?;
        if let Some(wall) = &self.wall {
            landlock::enter(wall.as_fd()).map_err(failed(StartStep::Wall))?;
        }
        if let Some(directory) = self.program.working_directory {
            let changed = rustix::process::chdir(directory);
            changed.map_err(|errno| (StartStep::WorkingDirectory, errno.into()))?;
        }
        self.name_own_pid();
        Err((StartStep::Execute, self.execute()))
    }

    /// In a user namespace nothing is permitted before the parent has written the maps. A parent without privileges can
    /// write only files of its own user, which those of a process are as long as it is dumpable.
    fn wait_for_parent(&self, go: BorrowedFd<'_>) -> io::Result<()> {
        let has_maps = self.program.maps().is_some();
        if has_maps {
            process::set_dumpable_for_parent()?;
            rustix::net::send(go, b"?", SendFlags::NOSIGNAL)?;
        }
        rustix::io::read(go, &mut [0; 1])?;
        if has_maps { process::set_undumpable() } else { Ok(()) }
    }

    fn assume_credentials(&self) -> io::Result<()> {
        if let Some(credentials) = self.program.credentials {
            let maps = self.program.isolation.and_then(|isolation| isolation.maps.as_ref());
            let groups = maps.is_none_or(|maps| maps.may_set_groups).then_some(&self.groups[..]);
            user::assume(credentials.uid, credentials.gid, groups)?;
        }
        if self.program.no_new_privileges {
            rustix::thread::set_no_new_privs(true)?;
        }
        Ok(())
    }

    fn place_descriptors(&self) -> io::Result<()> {
        // Descriptors that this process itself inherited need not be close-on-exec. A kernel that
        // does not know the call (before 5.11) leaves them open, as any other program would.
        // By its number, as musl has no function for it, nor has a glibc before 2.34.
        // SAFETY: only sets a flag on descriptors of this child.
        unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
        for (fd, target) in &self.fds {
            // SAFETY: closes whatever had that number in this child, which owns nothing there: its
            // own descriptors were moved out of the way, and the rest belongs to the parent's copy.
            if unsafe { libc::dup2(fd.as_raw_fd(), *target) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    fn name_own_pid(&mut self) {
        if let Some(text) = &mut self.own_pid {
            let place = self.environment.len() - 2;
            self.environment[place] = text.write(rustix::process::getpid());
        }
    }

    fn execute(&self) -> io::Error {
        let (argv, environment) = (self.argv.as_ptr(), self.environment.as_ptr());
        match (&self.executable, self.program.executable) {
            (Some(file), _) => {
                // SAFETY: both arrays end with a null pointer and hold pointers to NUL-terminated strings
                // that `program` and `own_pid` keep alive.
                unsafe { libc::fexecve(file.as_raw_fd(), argv, environment) };
            }
            (None, Executable::Path(path)) => {
                // SAFETY: as above, and the path is a NUL-terminated string.
                unsafe { libc::execve(path.as_ptr(), argv, environment) };
            }
            (None, Executable::Open(_)) => return Errno::BADF.into(),
        }
        io::Error::last_os_error()
    }
}

/// `NAME=` with room for a number behind it.
struct PidText {
    bytes: Vec<u8>,
    name_len: usize,
}

/// Enough for every process id and the NUL behind it.
const LONGEST_PID: usize = 12;

impl PidText {
    fn new(name: &str) -> Self {
        let mut bytes = [name.as_bytes(), b"="].concat();
        let name_len = bytes.len();
        bytes.resize(name_len + LONGEST_PID, 0);
        Self { bytes, name_len }
    }

    /// Async-signal-safe: writes into memory that is there.
    fn write(&mut self, pid: Pid) -> *const libc::c_char {
        let mut rest = pid.as_raw_nonzero().get().unsigned_abs();
        let mut n_digits = 1;
        while 10_u32.checked_pow(n_digits).is_some_and(|limit| rest >= limit) {
            n_digits += 1;
        }
        for place in (0..n_digits as usize).rev() {
            self.bytes[self.name_len + place] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.bytes.as_ptr().cast()
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
    if !process::is_single_threaded() {
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
