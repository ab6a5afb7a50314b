//! Connections of clients that a worker has taken over: no requests any more, but it has to live for them.

use std::fmt;
use std::sync::Arc;

use corral_channel::RequestId;
use corral_sys::aside::Foreign;

use super::{AnyPort, App, ChannelPort, Failure, LoopApp, WorkerKey};

/// A connection that an application has taken over.
#[derive(Debug)]
pub(crate) struct Hijacked {
    /// Its other end is the application's.
    pub(crate) socket: Foreign,
    pub(crate) hold: Hold,
}

/// Keeps a worker from being told to leave, until it is dropped.
pub(crate) struct Hold {
    app: Arc<App>,
    worker: WorkerKey,
}

impl Hold {
    pub(super) fn new(app: &Arc<App>, worker: WorkerKey) -> Self {
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

impl LoopApp {
    /// A worker has taken the connection of a request over. Its socket is not there if this process had no descriptor
    /// for it.
    pub(super) fn on_hijacked(
        &self,
        worker: WorkerKey,
        id: RequestId,
        socket: Option<Foreign>,
    ) -> Result<(), String> {
        let hold = Hold::new(&self.app, worker);
        let Some(shared) = self.lookup(id) else { return Ok(()) };
        let mut state = shared.state.borrow_mut();
        if state.has_begun || state.ended || state.hijacked.is_some() {
            return Err("the worker takes a connection over behind a response".into());
        }
        match socket {
            _ if state.abandoned => {}
            Some(socket) => state.hijacked = Some(Hijacked { socket, hold }),
            None => state.failure = Some(Failure::NoSocket),
        }
        Ok(())
    }
}

impl App {
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
