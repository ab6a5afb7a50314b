//! A copy of this process that takes the place of a program: the process above that adopts orphans becomes its parent,
//! and it takes on the user and the bounds that the program would have been started with.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::{Gid, Pid};

use super::{Fork, SpawnError, StartStep, failed_to, fork};
use crate::user::{self, Credentials};
use crate::{environment, landlock, process, signal};

/// The number that the copy's number is sent as.
const NUMBER: usize = size_of::<i32>();

/// Copies this process, which must have one thread. The copy is a child of the nearest process above this one that
/// adopts orphans (`process::become_subreaper`): by the time that this process has its number, that is its parent.
///
/// # Errors
/// When the system refuses a process or a pipe.
pub fn fork_heir() -> io::Result<Fork> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    match fork()? {
        Fork::Parent(between) => {
            drop(writer);
            let heir = read_number(reader);
            // Its end leaves the copy to the one that adopts it.
            signal::wait_for(between)?;
            heir.map(Fork::Parent)
        }
        Fork::Child => {
            drop(reader);
            match fork() {
                Ok(Fork::Child) => return Ok(Fork::Child),
                Ok(Fork::Parent(heir)) => tell_number(writer, heir.as_raw_nonzero().get()),
                Err(error) => tell_number(writer, -error.raw_os_error().unwrap_or(libc::EAGAIN)),
            }
            // SAFETY: ends this process at once, without running exit handlers, which are for the process that it is
            // a copy of.
            unsafe { libc::_exit(0) }
        }
    }
}

/// The number of a process, or a negative error number.
fn read_number(reader: OwnedFd) -> io::Result<Pid> {
    let mut bytes = [0; NUMBER];
    File::from(reader).read_exact(&mut bytes)?;
    let number = i32::from_ne_bytes(bytes);
    Pid::from_raw(number.max(0)).ok_or_else(|| io::Error::from_raw_os_error(-number))
}

fn tell_number(writer: OwnedFd, number: i32) {
    // A reader that is gone waits for nothing.
    let _ = File::from(writer).write_all(&number.to_ne_bytes());
}

/// The things that make one process of another, apart from its program and descriptors.
#[derive(Debug)]
pub struct Identity<'a> {
    /// The whole environment, `NAME=value` each.
    pub environment: &'a [CString],
    /// The control group that it joins: `cgroup.procs`, open for writing.
    pub cgroup: Option<BorrowedFd<'a>>,
    /// The user and groups to run as; `None` keeps this process's.
    pub credentials: Option<&'a Credentials>,
    /// As for a [`Program`](super::Program).
    pub no_new_privileges: bool,
    /// As for a [`Program`](super::Program).
    pub wall: Option<BorrowedFd<'a>>,
    /// Directory to change to, after the credentials.
    pub working_directory: Option<&'a CStr>,
}

impl Identity<'_> {
    /// Takes it on, in a process with one thread that is not the first of its session. Without going back: a process
    /// that could not do all of it has to end.
    ///
    /// # Errors
    /// The step that failed.
    pub fn assume(&self) -> Result<(), SpawnError> {
        process::new_session().map_err(failed_to(StartStep::Session))?;
        if let Some(cgroup) = self.cgroup {
            // 0 is the writing process.
            rustix::io::write(cgroup, b"0").map_err(|errno| failed_to(StartStep::Cgroup)(errno.into()))?;
        }
        environment::replace(self.environment).map_err(failed_to(StartStep::Execute))?;
        self.assume_credentials().map_err(failed_to(StartStep::Credentials))?;
        if let Some(wall) = self.wall {
            landlock::enter(wall.as_fd()).map_err(failed_to(StartStep::Wall))?;
        }
        let directory = self.working_directory.map_or(Ok(()), rustix::process::chdir);
        directory.map_err(|errno| failed_to(StartStep::WorkingDirectory)(errno.into()))
    }

    fn assume_credentials(&self) -> io::Result<()> {
        if let Some(credentials) = self.credentials {
            let groups: Vec<_> = credentials.groups.iter().map(|group| Gid::from_raw(*group)).collect();
            user::assume(credentials.uid, credentials.gid, Some(&groups))?;
            // The change of the user has made the process what the system has for such a case.
            process::set_undumpable()?;
        }
        if self.no_new_privileges {
            rustix::thread::set_no_new_privs(true)?;
        }
        Ok(())
    }
}
