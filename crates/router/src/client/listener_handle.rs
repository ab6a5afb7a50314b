//! A listener as its connections know it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use corral_config::address::ListenAddress;
use tokio::sync::Notify;

use crate::generation::LoopGeneration;
use crate::generation::listener_settings::ListenerSettings;
use crate::services::countdown::Countdown;

/// A listener as its connections know it.
pub(crate) struct ListenerHandle {
    pub(crate) address: ListenAddress,
    settings: RefCell<ListenerSettings>,
    /// Closed, and for how long connections may wait for a request all the same.
    closed: Cell<Option<Duration>>,
    closing: Notify,
    /// For connections that are to be told.
    closed_for_streams: Notify,
    /// Held until the listening socket is closed, by which the address is free again.
    released: Cell<Option<Countdown>>,
}

impl ListenerHandle {
    /// `listener` is its index in the generation.
    pub(crate) fn new(address: ListenAddress, generation: Rc<LoopGeneration>, listener: usize) -> Rc<Self> {
        Self::new_with(address, ListenerSettings::new(generation, listener))
    }

    /// A listener that is never changed and never closed.
    pub(super) fn of(settings: ListenerSettings) -> Rc<Self> {
        Self::new_with(settings.listener().address.clone(), settings)
    }

    fn new_with(address: ListenAddress, settings: ListenerSettings) -> Rc<Self> {
        let settings = RefCell::new(settings);
        let (closed, released) = (Cell::new(None), Cell::new(None));
        let (closing, closed_for_streams) = (Notify::new(), Notify::new());
        Rc::new(Self { address, settings, closed, closing, closed_for_streams, released })
    }

    /// From the next request on, connections of this listener use this configuration.
    pub(crate) fn configure(&self, generation: Rc<LoopGeneration>, listener: usize) {
        self.settings.replace(ListenerSettings::new(generation, listener));
    }

    /// Whether a configuration has the listener, with connections of the same kind.
    pub(crate) fn stays_in(&self, generation: &LoopGeneration) -> bool {
        let listener = generation.find_listener(&self.address).map(|idx| &generation.config.listeners[idx]);
        let is_raw = self.settings.borrow().listener().layer4.is_some();
        listener.is_some_and(|listener| listener.layer4.is_some() == is_raw)
    }

    pub(crate) fn settings(&self) -> ListenerSettings {
        self.settings.borrow().clone()
    }

    /// No more connections; those that are open end after the request in progress, or the next one if it comes
    /// in time.
    pub(crate) fn close(&self, keep_idle: Duration, released: Countdown) {
        self.released.set(Some(released));
        self.closed.set(Some(keep_idle));
        self.closing.notify_one();
        self.closed_for_streams.notify_waiters();
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

    /// Waits until it is closed, wherever else that is waited for. Cancel safe.
    pub(super) async fn closed_for_streams(&self) {
        if !self.is_closed() {
            self.closed_for_streams.notified().await;
        }
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
