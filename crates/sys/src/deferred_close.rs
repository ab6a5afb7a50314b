//! Closing descriptors that others have sent. There are sockets, files and devices whose end is waited for, and what
//! waits in a socket is closed with it: so it is done in threads whose only work that is.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::net::sockopt::{set_socket_linger, socket_domain};
use rustix::net::{AddressFamily, Shutdown, shutdown};

use crate::socket::{self, Wait};

/// The largest number of threads. Each may be held for as long as a local user with a file system of their own (FUSE)
/// likes: a descriptor can be closed in no other way, and while all are held, the others wait.
const MOST_THREADS: usize = 64;

/// Room that is enough for closing something, as there may be many.
const STACK: usize = 128 * 1024;

/// The descriptors to be closed.
#[derive(Default)]
struct Pile {
    waiting: VecDeque<Closing>,
    n_threads: usize,
    n_idle: usize,
}

/// One descriptor, and whether other processes with the same socket are to be left alone.
struct Closing {
    descriptor: OwnedFd,
    is_shared: bool,
}

static PILE: Mutex<Pile> = Mutex::new(Pile { waiting: VecDeque::new(), n_threads: 0, n_idle: 0 });
static MORE: Condvar = Condvar::new();

/// Closes descriptors in another thread, and waits for nothing itself.
pub fn close(descriptors: impl IntoIterator<Item = OwnedFd>) {
    pile_up(descriptors.into_iter().map(|descriptor| Closing { descriptor, is_shared: false }));
}

/// Closes descriptors in another thread that another process has duplicates of and goes on using.
pub fn let_go(descriptors: impl IntoIterator<Item = OwnedFd>) {
    pile_up(descriptors.into_iter().map(|descriptor| Closing { descriptor, is_shared: true }));
}

fn pile_up(closing: impl Iterator<Item = Closing>) {
    let mut pile = lock();
    let n_before = pile.waiting.len();
    pile.waiting.extend(closing);
    if pile.waiting.len() == n_before {
        return;
    }
    if pile.waiting.len() > pile.n_idle && pile.n_threads < MOST_THREADS {
        // Where there is no thread for it, the next call may find one.
        let started = thread::Builder::new().name("close".into()).stack_size(STACK).spawn(work);
        pile.n_threads += usize::from(started.is_ok());
    }
    drop(pile);
    MORE.notify_one();
}

fn lock() -> MutexGuard<'static, Pile> {
    PILE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work() {
    let mut pile = lock();
    loop {
        if let Some(Closing { descriptor, is_shared }) = pile.waiting.pop_front() {
            drop(pile);
            if !is_shared {
                disarm(&descriptor);
            }
            drop(descriptor);
            pile = lock();
        } else {
            pile.n_idle += 1;
            pile = MORE.wait(pile).unwrap_or_else(PoisonError::into_inner);
            pile.n_idle -= 1;
        }
    }
}

/// Has a socket not linger, and takes what waits in it to the others. Nothing else is one.
fn disarm(descriptor: &OwnedFd) {
    let _ = set_socket_linger(descriptor, None);
    if socket_domain(descriptor) != Ok(AddressFamily::UNIX) {
        return;
    }
    // From here on, no process can put anything into the socket.
    let _ = shutdown(descriptor, Shutdown::Both);
    while let Ok(received) = socket::recv(descriptor.as_fd(), &mut [0; 4096], Wait::Never) {
        if received.len == 0 && received.fds.is_empty() {
            return;
        }
        close(received.fds);
    }
}

/// A descriptor that a process has sent which is not trusted. It is closed in another thread.
#[derive(Debug)]
pub struct ForeignFd(Option<OwnedFd>);

impl ForeignFd {
    /// The descriptor, for an owner that closes it in the same way.
    #[must_use]
    pub fn into_inner(mut self) -> OwnedFd {
        self.0.take().expect("it is taken here alone")
    }
}

impl From<OwnedFd> for ForeignFd {
    fn from(descriptor: OwnedFd) -> Self {
        Self(Some(descriptor))
    }
}

impl AsFd for ForeignFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_ref().expect("it is there until it is taken").as_fd()
    }
}

impl Drop for ForeignFd {
    fn drop(&mut self) {
        close(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::poll;

    /// A connection whose end is waited for, and its other side, which takes nothing.
    fn lingering() -> (OwnedFd, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (other, _) = listener.accept().unwrap();
        socket.set_nonblocking(true).unwrap();
        while socket.write(&[0; 65536]).is_ok() {}
        socket.set_nonblocking(false).unwrap();
        set_socket_linger(&socket, Some(Duration::from_secs(600))).unwrap();
        (socket.into(), other)
    }

    /// Closing it must neither take long here, nor keep the other side waiting.
    #[track_caller]
    fn check_closed(descriptor: OwnedFd, other: impl AsFd) {
        let start = Instant::now();
        close([descriptor]);
        assert!(start.elapsed() < Duration::from_secs(60), "it was waited for");
        let deadline = Instant::now() + Duration::from_secs(60);
        while !poll::has_hung_up(other.as_fd()) && !is_ended(other.as_fd()) {
            assert!(Instant::now() < deadline, "it is still open");
            thread::yield_now();
        }
    }

    /// Whether the other side has said that it is gone, which is behind all that it had sent.
    fn is_ended(socket: BorrowedFd<'_>) -> bool {
        let mut room = Vec::with_capacity(1 << 20);
        socket::receive(socket, &mut room).is_ok_and(|n| n == 0)
    }

    #[test]
    fn a_socket_that_lingers_keeps_nobody_waiting() {
        let (socket, other) = lingering();
        check_closed(socket, other);
    }

    #[test]
    fn neither_does_one_within_another() {
        let (outer, sender) = socket::stream_pair().unwrap();
        let (inner, other) = lingering();
        socket::send(sender.as_fd(), b"x", &[inner.as_fd()], Wait::Never).unwrap();
        drop(inner);
        check_closed(outer, other);
        assert!(poll::has_hung_up(sender.as_fd()));
    }

    #[test]
    fn what_others_use_on_is_left_as_it_is() {
        let (ours, other) = socket::stream_pair().unwrap();
        let theirs = ours.try_clone().unwrap();
        let (_keep, waiting) = rustix::pipe::pipe().unwrap();
        let mark = rustix::io::dup(&waiting).unwrap();
        drop(waiting);
        let_go([ours, mark]);
        socket::send(other.as_fd(), b"x", &[], Wait::Never).unwrap();
        assert_eq!(socket::recv(theirs.as_fd(), &mut [0; 8], Wait::Block).unwrap().len, 1);
    }

    #[test]
    fn everything_can_be_closed() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        drop(ForeignFd::from(writer));
        let deadline = Instant::now() + Duration::from_secs(60);
        while !poll::has_hung_up(reader.as_fd()) {
            assert!(Instant::now() < deadline, "it is still open");
            thread::yield_now();
        }
        close([]);
    }
}
