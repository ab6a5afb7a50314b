//! Waking an event loop of a process that is not trusted: a byte through a socket, which never makes the ringing side
//! wait. (A counter's writer waits when the other side wants it to.)

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::deferred_close::ForeignFd;
use crate::descriptor_kind::DescriptorKind;
use crate::socket::refuse_descriptors;

/// The end that is rung.
#[derive(Debug)]
pub struct Doorbell(Arc<OwnedFd>);

/// The end that rings, as its receiver has it.
#[derive(Debug)]
pub struct BellPush(ForeignFd);

/// Makes both ends, closed on exec; the second one is to be sent.
///
/// # Errors
/// Errors of socketpair(2): no descriptor is left.
pub fn pair() -> io::Result<(Doorbell, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (rung, rings) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    refuse_descriptors(&rings);
    Ok((Doorbell(Arc::new(rung)), rings))
}

impl Doorbell {
    /// Keeps it open.
    #[must_use]
    pub fn share(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.0)
    }

    /// Ends the ringing: it is not readable any more until it rings again. One system call.
    pub fn silence(&self) {
        let mut bytes = [0; 64];
        // The other end rings once until it is asked to again; bytes that stay are read the next time.
        let _ = rustix::net::recv(&self.0, &mut bytes[..], RecvFlags::DONTWAIT);
    }
}

impl BellPush {
    /// Rings. One system call, which does not wait: a bell that has no room for the byte rings already.
    ///
    /// # Errors
    /// Errors of send(2): the other end is gone.
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

impl TryFrom<OwnedFd> for BellPush {
    type Error = io::Error;

    /// Takes a descriptor from another process, if it is such an end.
    fn try_from(fd: OwnedFd) -> io::Result<Self> {
        let fd = ForeignFd::from(fd);
        if DescriptorKind::of_socket(&fd) != Some(DescriptorKind::Stream) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "what should ring a bell is not a socket that does",
            ));
        }
        refuse_descriptors(&fd);
        Ok(Self(fd))
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

    fn bell_and_push() -> (Doorbell, BellPush) {
        let (bell, push) = pair().unwrap();
        (bell, push.try_into().unwrap())
    }

    #[test]
    fn nothing_else_is_taken_for_one() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let (datagrams, _other) = crate::socket::seqpacket_pair().unwrap();
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap().into();
        for fd in [reader, writer, datagrams, tcp] {
            assert_eq!(BellPush::try_from(fd).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }

    #[test]
    fn it_rings_until_it_is_silenced() {
        let (bell, push) = bell_and_push();
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
        let (bell, push) = bell_and_push();
        for _ in 0..100_000 {
            push.ring().unwrap();
        }
        drop(bell);
        push.ring().unwrap_err();
    }
}
