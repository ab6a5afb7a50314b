//! The router's side of the link to `main`, shared by all event loops.

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
        self.send_with(message, &[]);
    }

    /// The same, with descriptors.
    pub(crate) fn send_with(&self, message: &FromRouter, fds: &[BorrowedFd<'_>]) {
        if let Err(error) = self.0.send(message, fds) {
            tracing::error!("send a message to the main process: {error}");
        }
    }
}
