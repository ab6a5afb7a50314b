//! Descriptors in a tokio event loop, registered safely.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};

/// A descriptor whose readability an event loop watches, edge-triggered.
#[derive(Debug)]
pub struct Watched(AsyncFd<OwnedFd>);

impl Watched {
    /// Registers a descriptor with the current event loop.
    ///
    /// # Errors
    /// When epoll does not take it.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        // SAFETY: The descriptor is owned by the `AsyncFd` from here on, and nothing here gives out a
        // mutable reference by which it could be exchanged or closed before it is deregistered.
        let registered = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
        registered.map(Self).map_err(|error| error.into_parts().1)
    }

    /// Waits until there is something to read; clear the guard once it was all read. Cancel safe.
    ///
    /// # Errors
    /// When the event loop is shutting down.
    pub async fn readable(&self) -> io::Result<AsyncFdReadyGuard<'_, OwnedFd>> {
        self.0.readable().await
    }
}
