//! The listeners of one event loop, from one configuration to the next.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use corral_config::address::ListenAddress;

use crate::client::accept::{self, Acceptor};
use crate::client::slot::Slot;
use crate::generation::LoopGeneration;
use crate::services::Services;
use crate::services::countdown::Countdown;

/// All that accept.
pub(super) struct Listeners {
    services: Rc<Services>,
    slots: RefCell<HashMap<ListenAddress, Rc<Slot>>>,
}

impl Listeners {
    pub(super) fn new(services: Rc<Services>) -> Self {
        Self { services, slots: RefCell::default() }
    }

    /// Starts a listener, or gives a running one its new configuration.
    pub(super) fn listen(
        &self,
        generation: &Rc<LoopGeneration>,
        address: ListenAddress,
        sockets: Vec<Arc<OwnedFd>>,
    ) {
        let Some(listener) = generation.find_listener(&address) else { return };
        let known = self.slots.borrow().get(&address).map(Rc::clone);
        if let Some(slot) = known {
            slot.configure(Rc::clone(generation), listener);
            return;
        }
        match Acceptor::new(&address, sockets) {
            Ok(acceptor) => {
                let slot = Slot::new(address.clone(), Rc::clone(generation), listener);
                self.slots.borrow_mut().insert(address, Rc::clone(&slot));
                tokio::task::spawn_local(accept::run(Rc::clone(&self.services), acceptor, slot));
            }
            Err(error) => tracing::error!("take over the socket of a listener: {error}"),
        }
    }

    /// Closes listeners; `done` counts each until its socket is closed, so that its address can be bound again.
    pub(super) fn close(&self, keep: impl Fn(&ListenAddress) -> bool, keep_idle: Duration, done: &Countdown) {
        self.slots.borrow_mut().retain(|_, slot| {
            let keep = keep(&slot.address);
            if !keep {
                slot.close(keep_idle, Arc::clone(done));
                self.services.deadlines.expire_idle(slot.id(), keep_idle);
            }
            keep
        });
    }
}
