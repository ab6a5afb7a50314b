//! Waiting for several descriptors at once.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::process;

/// The event that is waited for on one descriptor. The end of the other side always counts as readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Something to read.
    Read,
    /// Something to read, or room to write.
    ReadWrite,
    /// Room to write.
    Write,
}

/// The events of one descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readiness {
    /// A read does not block: there is something, or the other side is gone.
    pub readable: bool,
    /// A write does not block.
    pub writable: bool,
}

/// How often descriptors are looked at that the kernel does not wait for.
const LOOK: Duration = Duration::from_millis(20);

/// Waits until a descriptor is ready, the time that is `left` is over or a signal comes, and says for each
/// descriptor what it is ready for, in their order. Of what says that it is ready, a read or write may
/// find nothing to do all the same.
pub fn wait(fds: &[(BorrowedFd<'_>, Interest)], left: Option<Duration>) -> io::Result<Vec<Readiness>> {
    let mut polled: Vec<_> = fds
        .iter()
        .map(|(fd, interest)| match interest {
            Interest::Read => PollFd::from_borrowed_fd(*fd, PollFlags::IN),
            Interest::ReadWrite => PollFd::from_borrowed_fd(*fd, PollFlags::IN | PollFlags::OUT),
            Interest::Write => PollFd::from_borrowed_fd(*fd, PollFlags::OUT),
        })
        .collect();
    // A time too far away for the kernel's type is the same as none.
    let timeout = left.and_then(|timeout| Timespec::try_from(timeout).ok());
    match rustix::event::poll(&mut polled, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        // The limit was lowered since they were opened. They can be used, but not waited for.
        Err(Errno::INVAL) if fds.len() as u64 > process::descriptor_limit() => {
            std::thread::sleep(left.map_or(LOOK, |left| left.min(LOOK)));
            let ready = |&(_, interest)| Readiness { readable: true, writable: interest != Interest::Read };
            return Ok(fds.iter().map(ready).collect());
        }
        Err(errno) => return Err(errno.into()),
    }
    let ended = PollFlags::HUP | PollFlags::ERR;
    let readiness = polled.iter().map(|fd| Readiness {
        readable: fd.revents().intersects(PollFlags::IN | ended),
        writable: fd.revents().intersects(PollFlags::OUT),
    });
    Ok(readiness.collect())
}

/// Whether a connection has ended in both directions, by one side's doing or that of both.
#[must_use]
pub fn has_hung_up(fd: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    // Nothing is known when it fails.
    rustix::event::poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().contains(PollFlags::HUP)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn look(socket: &UnixStream, interest: Interest) -> (bool, bool) {
        let ready = wait(&[(socket.as_fd(), interest)], Some(Duration::ZERO)).unwrap();
        (ready[0].readable, ready[0].writable)
    }

    #[test]
    fn readiness_follows_the_socket() {
        let (here, mut there) = UnixStream::pair().unwrap();
        assert_eq!(look(&here, Interest::Read), (false, false));
        assert_eq!(look(&here, Interest::ReadWrite), (false, true));
        there.write_all(b"x").unwrap();
        assert_eq!(look(&here, Interest::ReadWrite), (true, true));
        drop(there);
        assert_eq!(look(&here, Interest::Read), (true, false));
    }

    #[test]
    fn half_an_end_is_no_hanging_up() {
        let (here, there) = UnixStream::pair().unwrap();
        assert!(!has_hung_up(here.as_fd()));
        there.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(!has_hung_up(here.as_fd()));
        drop(there);
        assert!(has_hung_up(here.as_fd()));
    }

    #[test]
    fn the_time_out_is_kept() {
        let (here, _there) = UnixStream::pair().unwrap();
        let start = std::time::Instant::now();
        wait(&[(here.as_fd(), Interest::Read)], Some(Duration::from_millis(20))).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(20));
    }
}
