//! The router's side of the link to `main`, shared by all event loops.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use corral_ipc::link::Link;
use corral_ipc::message::FromRouter;

/// Sends to `main`. Messages are single datagrams, so threads need no lock between them.
#[derive(Clone)]
pub(crate) struct MainSender(Arc<Link>);

impl MainSender {
    pub(crate) fn new(link: Arc<Link>) -> Self {
        Self(link)
    }

    /// Sends, or logs why not: a router whose `main` is gone is about to end anyway.
    pub(crate) fn send(&self, message: &FromRouter) {
        if let Err(error) = self.0.send(message, &[]) {
            tracing::error!("send a message to the main process: {error}");
        }
    }

    /// Sends a message with descriptors that an event loop must not wait for.
    ///
    /// # Errors
    /// `WouldBlock` while the link is full.
    pub(crate) fn try_send_with(&self, message: &FromRouter, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.0.try_send(message, fds)
    }
}
