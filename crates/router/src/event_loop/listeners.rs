//! The listeners of one event loop, from one configuration to the next.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use corral_config::address::ListenAddress;

use crate::client::accept::{self, Acceptor};
use crate::client::datagrams;
use crate::client::listener_handle::ListenerHandle;
use crate::generation::LoopGeneration;
use crate::services::LoopServices;
use crate::services::countdown::Countdown;

/// All that accept.
pub(super) struct LoopListeners {
    services: Rc<LoopServices>,
    handles: RefCell<HashMap<ListenAddress, Rc<ListenerHandle>>>,
}

impl LoopListeners {
    pub(super) fn new(services: Rc<LoopServices>) -> Self {
        Self { services, handles: RefCell::default() }
    }

    /// Starts a listener, or gives a running one its new configuration.
    pub(super) fn listen(
        &self,
        generation: &Rc<LoopGeneration>,
        address: ListenAddress,
        sockets: Vec<Arc<OwnedFd>>,
    ) {
        let Some(listener) = generation.find_listener(&address) else { return };
        let known = self.handles.borrow().get(&address).map(Rc::clone);
        if let Some(handle) = known {
            handle.configure(Rc::clone(generation), listener);
            return;
        }
        if let ListenAddress::Udp(_) = address {
            let handle = ListenerHandle::new(address.clone(), Rc::clone(generation), listener);
            self.handles.borrow_mut().insert(address, Rc::clone(&handle));
            if let Some(socket) = sockets.into_iter().next() {
                tokio::task::spawn_local(datagrams::run(Rc::clone(&self.services), socket, handle));
            }
            return;
        }
        match Acceptor::new(&address, sockets) {
            Ok(acceptor) => {
                let handle = ListenerHandle::new(address.clone(), Rc::clone(generation), listener);
                self.handles.borrow_mut().insert(address, Rc::clone(&handle));
                tokio::task::spawn_local(accept::run(Rc::clone(&self.services), acceptor, handle));
            }
            Err(error) => tracing::error!("take over the socket of a listener: {error}"),
        }
    }

    /// Closes listeners; `done` counts each until its socket is closed, so that its address can be bound again.
    pub(super) fn close(
        &self,
        keep: impl Fn(&ListenerHandle) -> bool,
        keep_idle: Duration,
        done: &Countdown,
    ) {
        self.handles.borrow_mut().retain(|_, handle| {
            let keep = keep(handle);
            if !keep {
                handle.close(keep_idle, Arc::clone(done));
                self.services.deadlines.expire_idle(handle.id(), keep_idle);
            }
            keep
        });
    }
}
