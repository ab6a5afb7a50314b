//! TCP connections of clients. The event loop watches one only from when a task has to wait for it: one that brings its
//! request along, and is answered at once, costs two system calls less.

use std::io;
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use corral_sys::socket::finish_writing;
use parking_lot::Mutex;
use tokio::io::Interest;
use tokio::net::TcpStream;

/// A connection that was accepted. As long as it is not watched it counts as ready for whatever has not failed: trying
/// finds out.
pub(crate) struct AcceptedStream {
    /// The socket until it is watched.
    fresh: Mutex<Option<StdTcpStream>>,
    watched: OnceLock<TcpStream>,
    /// Nothing was left to read, or there was no room to write, while it was not watched.
    is_drained: AtomicBool,
    is_full: AtomicBool,
}

impl AcceptedStream {
    /// One that does not block.
    pub(super) fn new(stream: StdTcpStream) -> Self {
        Self {
            fresh: Mutex::new(Some(stream)),
            watched: OnceLock::new(),
            is_drained: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
        }
    }

    /// Has the event loop watch it, which tells what it is ready for already.
    ///
    /// # Errors
    /// When the system does not take it; it is closed then.
    pub(super) fn watched(&self) -> io::Result<&TcpStream> {
        let fresh = self.fresh.lock().take();
        if let Some(fresh) = fresh {
            let watched = TcpStream::from_std(fresh)?;
            self.watched.set(watched).expect("it was not watched");
        }
        self.watched.get().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Does something that it seems to be ready for; it is not any more when the answer is `WouldBlock`.
    pub(super) fn try_io<T>(
        &self,
        interest: Interest,
        act: impl FnOnce(BorrowedFd<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        if let Some(watched) = self.watched.get() {
            return watched.try_io(interest, || act(watched.as_fd()));
        }
        let done = self.with_fresh(|fresh| act(fresh.as_fd()));
        if matches!(&done, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            let is_blocked = if interest.is_readable() { &self.is_drained } else { &self.is_full };
            is_blocked.store(true, Ordering::Relaxed);
        }
        done
    }

    pub(super) fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.watched.get().is_none() && !self.is_drained.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        self.watched()?.poll_read_ready(context)
    }

    pub(super) fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.watched.get().is_none() && !self.is_full.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        self.watched()?.poll_write_ready(context)
    }

    /// Does something with the descriptor, whether it is ready or not.
    pub(super) fn with_fd<T>(&self, act: impl FnOnce(BorrowedFd<'_>) -> T) -> io::Result<T> {
        match self.watched.get() {
            Some(watched) => Ok(act(watched.as_fd())),
            None => self.with_fresh(|fresh| Ok(act(fresh.as_fd()))),
        }
    }

    pub(super) fn shut_down(&self) -> io::Result<()> {
        self.with_fd(|fd| finish_writing(fd))?
    }

    pub(super) fn local_address(&self) -> io::Result<SocketAddr> {
        match self.watched.get() {
            Some(watched) => watched.local_addr(),
            None => self.with_fresh(StdTcpStream::local_addr),
        }
    }

    fn with_fresh<T>(&self, act: impl FnOnce(&StdTcpStream) -> io::Result<T>) -> io::Result<T> {
        self.fresh.lock().as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into()).and_then(act)
    }
}
