//! The way to the control process, for requests of clients that it answers: metrics and the dashboard.
//!
//! Each request has a pair of sockets of its own. One end goes by main to the control process, which answers HTTP
//! there; so nothing listens for it, and no other process can connect.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use corral_ipc::message::{ControlCall, FromRouter};
use tokio::net::UnixStream;

use crate::io::AnySocket;
use crate::main_link::MainSender;

/// Requests of the whole router at a time: some people who look, each by a few connections, and collectors.
const MOST: usize = 64;

/// Makes connections, for all event loops.
pub(crate) struct ControlLine {
    main: MainSender,
    n_open: AtomicUsize,
}

/// One request's share of the line.
pub(crate) struct ControlShare(Arc<ControlLine>);

impl ControlLine {
    pub(crate) fn new(main: MainSender) -> Arc<Self> {
        Arc::new(Self { main, n_open: AtomicUsize::new(0) })
    }

    /// A share, unless others have all of them.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<ControlShare> {
        let enter = |n_open| (n_open < MOST).then_some(n_open + 1);
        self.n_open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enter).ok()?;
        Some(ControlShare(Arc::clone(self)))
    }
}

impl ControlShare {
    /// A connection on which one request is answered. It ends at once if no control process runs.
    ///
    /// # Errors
    /// When there are no descriptors left.
    pub(crate) fn connect(&self, call: ControlCall) -> io::Result<AnySocket> {
        let (ours, theirs) = UnixStream::pair()?;
        self.0.main.send_with(&FromRouter::ControlCall(call), &[theirs.as_fd()]);
        Ok(AnySocket::unix(ours))
    }
}

impl Drop for ControlShare {
    fn drop(&mut self) {
        self.0.n_open.fetch_sub(1, Ordering::Relaxed);
    }
}
