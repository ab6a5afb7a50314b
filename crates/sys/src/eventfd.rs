//! Counters that wake an event loop.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::EventfdFlags;
use rustix::io::Errno;

/// A non-blocking eventfd. Each `notify` gives an edge to epoll, even if the counter is never read.
#[derive(Debug)]
pub struct EventFd(OwnedFd);

impl EventFd {
    /// Makes one, closed on exec.
    ///
    /// # Errors
    /// Errors of eventfd(2): no descriptor or no memory is left.
    pub fn new() -> io::Result<Self> {
        let fd = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(fd))
    }

    /// Adds one to the counter. One system call.
    ///
    /// # Errors
    /// Errors of write(2), except EAGAIN: a full counter already rings.
    pub fn notify(&self) -> io::Result<()> {
        match rustix::io::retry_on_intr(|| rustix::io::write(&self.0, &1u64.to_ne_bytes())) {
            Ok(_) | Err(Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The descriptor's number.
    #[must_use]
    pub fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Another descriptor for the same counter.
    ///
    /// # Errors
    /// Errors of fcntl(2): no descriptor is left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for EventFd {
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl From<EventFd> for OwnedFd {
    fn from(event: EventFd) -> Self {
        event.0
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::epoll;
    use rustix::time::Timespec;

    use super::*;

    const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

    fn edges(epoll: &OwnedFd) -> usize {
        let mut events = Vec::with_capacity(4);
        epoll::wait(epoll, rustix::buffer::spare_capacity(&mut events), Some(&NOW)).unwrap()
    }

    #[test]
    fn each_notify_is_an_edge_although_nobody_reads() {
        let event = EventFd::new().unwrap();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &event, epoll::EventData::new_u64(0), flags).unwrap();
        assert_eq!(edges(&epoll), 0);
        for _ in 0..3 {
            event.notify().unwrap();
            assert_eq!(edges(&epoll), 1);
            assert_eq!(edges(&epoll), 0);
        }
    }

    #[test]
    fn a_full_counter_is_no_error() {
        let event = EventFd::new().unwrap();
        rustix::io::write(&event, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        event.notify().unwrap();
    }
}
