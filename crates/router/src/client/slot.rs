//! A listener as its connections know it, and in which configuration.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use corral_config::address::ListenAddress;
use corral_config::listener::Listener;
use rustls::ServerConfig;
use tokio::sync::Notify;

use crate::event_loop::countdown::Countdown;
use crate::generation::LoopGeneration;

/// A listener as its connections know it.
pub(crate) struct Slot {
    pub(crate) address: ListenAddress,
    settings: RefCell<SlotSettings>,
    /// Closed, and for how long connections may wait for a request all the same.
    closed: Cell<Option<Duration>>,
    closing: Notify,
    /// Held until the listening socket is closed, by which the address is free again.
    released: Cell<Option<Countdown>>,
}

/// Which listener it is, in which configuration. Cheap to clone.
#[derive(Clone)]
pub(crate) struct SlotSettings {
    pub(crate) generation: Rc<LoopGeneration>,
    listener: usize,
}

impl SlotSettings {
    pub(crate) fn listener(&self) -> &Listener {
        &self.generation.config.listeners[self.listener]
    }

    /// Whether connections begin with something else than a request.
    pub(crate) fn has_prelude(&self) -> bool {
        self.tls().is_some() || self.listener().proxy_protocol.is_some()
    }

    /// Whether the connection will begin with a header that names the client.
    pub(super) fn will_name_client(&self, peer: Option<SocketAddr>) -> bool {
        self.listener().proxy_protocol.as_ref().is_some_and(|source| source.matches(peer))
    }

    /// What is needed to speak TLS, if it is to be spoken.
    pub(crate) fn tls(&self) -> Option<&Arc<ServerConfig>> {
        self.generation.shared.tls[self.listener].as_ref().map(|context| &context.config)
    }
}

impl Slot {
    /// `listener` is its index in the generation.
    pub(crate) fn new(address: ListenAddress, generation: Rc<LoopGeneration>, listener: usize) -> Rc<Self> {
        let settings = RefCell::new(SlotSettings { generation, listener });
        let (closed, closing, released) = (Cell::new(None), Notify::new(), Cell::new(None));
        Rc::new(Self { address, settings, closed, closing, released })
    }

    /// From the next request on, connections of this listener use this configuration.
    pub(crate) fn configure(&self, generation: Rc<LoopGeneration>, listener: usize) {
        self.settings.replace(SlotSettings { generation, listener });
    }

    pub(crate) fn settings(&self) -> SlotSettings {
        self.settings.borrow().clone()
    }

    /// No more connections; those that are open end after the request in progress, or the next one if it comes
    /// in time.
    pub(crate) fn close(&self, keep_idle: Duration, released: Countdown) {
        self.released.set(Some(released));
        self.closed.set(Some(keep_idle));
        self.closing.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get().is_some()
    }

    /// For how long a connection may wait for a request, if the listener is closed.
    pub(crate) fn keep_idle(&self) -> Option<Duration> {
        self.closed.get()
    }

    /// Waits until it is closed.
    pub(super) async fn closing(&self) {
        self.closing.notified().await;
    }

    /// The listening socket is closed.
    pub(super) fn release(&self) {
        drop(self.released.take());
    }

    /// Tells the listeners of one loop apart.
    pub(crate) fn id(self: &Rc<Self>) -> usize {
        Rc::as_ptr(self) as usize
    }
}
