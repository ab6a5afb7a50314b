//! Waking an event loop of a process that is not trusted: a byte through a socket, which never makes the one who
//! rings wait. (A counter's writer waits when the other side wants it to.)

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::socket::refuse_descriptors;

/// The end that is rung.
#[derive(Debug)]
pub struct Doorbell(OwnedFd);

/// The end that rings.
#[derive(Debug)]
pub struct BellPush(OwnedFd);

/// Makes both ends, closed on exec.
///
/// # Errors
/// Those of socketpair(2): no descriptor is left.
pub fn pair() -> io::Result<(Doorbell, BellPush)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (rung, rings) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    refuse_descriptors(&rings);
    Ok((Doorbell(rung), BellPush(rings)))
}

impl Doorbell {
    /// Ends the ringing: it is not readable any more until it rings again. One system call.
    pub fn silence(&self) {
        let mut bytes = [0; 64];
        // Who rings does so once until it is asked to again; whatever stays is read the next time.
        let _ = rustix::net::recv(&self.0, &mut bytes[..], RecvFlags::DONTWAIT);
    }
}

impl BellPush {
    /// Rings. One system call, which does not wait: a bell that has no room for the byte rings already.
    ///
    /// # Errors
    /// Those of send(2): the other end is gone, or this is no socket.
    pub fn ring(&self) -> io::Result<()> {
        match rustix::net::send(&self.0, &[0], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(_) | Err(Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl From<OwnedFd> for BellPush {
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl From<BellPush> for OwnedFd {
    fn from(push: BellPush) -> Self {
        push.0
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

    fn rings(bell: &Doorbell) -> bool {
        poll(&mut [PollFd::new(bell, PollFlags::IN)], Some(&NOW)).unwrap() == 1
    }

    #[test]
    fn it_rings_until_it_is_silenced() {
        let (bell, push) = pair().unwrap();
        assert!(!rings(&bell));
        push.ring().unwrap();
        push.ring().unwrap();
        assert!(rings(&bell) && rings(&bell));
        bell.silence();
        assert!(!rings(&bell));
        bell.silence();
    }

    #[test]
    fn nobody_waits_for_one_who_does_not_listen() {
        let (bell, push) = pair().unwrap();
        for _ in 0..100_000 {
            push.ring().unwrap();
        }
        drop(bell);
        push.ring().unwrap_err();
    }
}
