//! Connections of clients that a worker has taken over: no requests any more, but it has to live for them.

use std::fmt;
use std::sync::Arc;

use corral_sys::deferred_close::ForeignFd;

use super::app::AppInstance;
use super::pool::worker::WorkerKey;
use super::port::{AnyPort, ChannelPort};

/// A connection that an application has taken over.
#[derive(Debug)]
pub(crate) struct Hijacked {
    /// One end of a pair, the other of which is the application's.
    pub(crate) socket: ForeignFd,
    pub(crate) hold: Hold,
}

/// Keeps a worker from being told to leave, until it is dropped.
pub(crate) struct Hold {
    app: Arc<AppInstance>,
    worker: WorkerKey,
}

impl Hold {
    pub(super) fn new(app: &Arc<AppInstance>, worker: WorkerKey) -> Self {
        app.with_port(worker, ChannelPort::hold);
        Self { app: Arc::clone(app), worker }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.app.release(self.worker);
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hold").field(&self.worker).finish()
    }
}

impl AppInstance {
    /// One connection less that a worker has taken over. With the last one, it may leave.
    fn release(&self, worker: WorkerKey) {
        let mut pool = self.pool.lock();
        let is_leaving = pool.is_leaving(worker);
        if let Some(port) = pool.port_mut(worker).and_then(AnyPort::channel_mut) {
            port.release();
            if is_leaving {
                port.let_go();
            }
        }
        drop(pool);
        self.wake_workers();
    }
}
