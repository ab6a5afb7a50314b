//! One listener of a configuration, as its connections see it.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use corral_config::listener::Listener;

use super::LoopGeneration;
use crate::tls::TlsContext;

/// Which listener it is, in which configuration. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ListenerSettings {
    pub(crate) generation: Rc<LoopGeneration>,
    /// Among the listeners, or behind them among the inner ones.
    listener: usize,
}

impl ListenerSettings {
    /// `listener` is its index in the generation.
    pub(crate) fn new(generation: Rc<LoopGeneration>, listener: usize) -> Self {
        Self { generation, listener }
    }

    /// `listener` is its index among the generation's inner listeners.
    pub(crate) fn inner(generation: Rc<LoopGeneration>, listener: usize) -> Self {
        let listener = generation.config.listeners.len() + listener;
        Self { generation, listener }
    }

    pub(crate) fn listener(&self) -> &Listener {
        let config = &self.generation.config;
        match config.listeners.get(self.listener) {
            Some(listener) => listener,
            None => &config.inner_listeners[self.listener - config.listeners.len()],
        }
    }

    /// Whether connections begin with something else than a request.
    pub(crate) fn has_prelude(&self) -> bool {
        self.tls().is_some() || self.listener().proxy_protocol.is_some()
    }

    /// Whether the connection will begin with a header that names the client.
    pub(crate) fn will_name_client(&self, peer: Option<SocketAddr>) -> bool {
        self.listener().proxy_protocol.as_ref().is_some_and(|source| source.matches(peer))
    }

    /// The settings of TLS, if it is to be spoken.
    pub(crate) fn tls(&self) -> Option<&Arc<TlsContext>> {
        self.generation.shared.tls.get(self.listener)?.as_ref()
    }
}
