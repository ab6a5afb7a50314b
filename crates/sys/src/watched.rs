//! Descriptors in a tokio event loop, registered safely.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};

/// A descriptor that an event loop watches, edge-triggered. Clear a guard once there is no more to read, or no
/// more room to write. Other event loops may watch the same one.
#[derive(Debug)]
pub struct Watched(AsyncFd<Arc<OwnedFd>>);

impl Watched {
    /// Registers a descriptor with the current event loop, for what it will be waited for.
    ///
    /// # Errors
    /// When epoll does not take it.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(fd: impl Into<Arc<OwnedFd>>, interest: Interest) -> io::Result<Self> {
        // SAFETY: The `AsyncFd` holds a count of the descriptor from here on, and nothing here gives out a
        // mutable reference by which that could be exchanged or given up before it is deregistered.
        let registered = unsafe { AsyncFd::register_with_interest(fd.into(), interest) };
        registered.map(Self).map_err(|error| error.into_parts().1)
    }

    /// Waits until there is something to read. Cancel safe.
    ///
    /// # Errors
    /// When the event loop is shutting down.
    pub async fn readable(&self) -> io::Result<AsyncFdReadyGuard<'_, Arc<OwnedFd>>> {
        self.0.readable().await
    }

    /// As [`Watched::readable`], for one task at a time.
    ///
    /// # Errors
    /// When the event loop is shutting down.
    pub fn poll_readable(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<AsyncFdReadyGuard<'_, Arc<OwnedFd>>>> {
        self.0.poll_read_ready(context)
    }

    /// Waits until there is room to write. Cancel safe.
    ///
    /// # Errors
    /// When the event loop is shutting down.
    pub async fn writable(&self) -> io::Result<AsyncFdReadyGuard<'_, Arc<OwnedFd>>> {
        self.0.writable().await
    }
}
