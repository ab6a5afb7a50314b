//! One listener of a configuration, as its connections see it.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use corral_config::listener::Listener;
use corral_config::table::{InnerListener, Key};

use super::LoopGeneration;
use crate::observe::request_counts::ListenerCounts;
use crate::tls::TlsContext;

/// Which listener it is, in which configuration. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ListenerSettings {
    pub(crate) generation: Rc<LoopGeneration>,
    listener: ListenerPlace,
}

/// A listener of a generation.
#[derive(Clone, Copy)]
enum ListenerPlace {
    /// Among those of the document.
    Bound(usize),
    Inner(Key<InnerListener>),
}

impl ListenerSettings {
    /// `listener` is its index in the generation.
    pub(crate) fn new(generation: Rc<LoopGeneration>, listener: usize) -> Self {
        Self { generation, listener: ListenerPlace::Bound(listener) }
    }

    pub(crate) fn inner(generation: Rc<LoopGeneration>, listener: Key<InnerListener>) -> Self {
        Self { generation, listener: ListenerPlace::Inner(listener) }
    }

    pub(crate) fn listener(&self) -> &Listener {
        let config = &self.generation.config;
        match self.listener {
            ListenerPlace::Bound(idx) => &config.listeners[idx],
            ListenerPlace::Inner(key) => &config.tables.inner_listeners[key],
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

    /// The counts of its requests; none of those that the router makes itself.
    pub(crate) fn counts(&self) -> Option<&ListenerCounts> {
        match self.listener {
            ListenerPlace::Bound(idx) => {
                self.generation.shared.listener_counts.get(idx).map(|counts| &**counts)
            }
            ListenerPlace::Inner(_) => None,
        }
    }

    /// The settings of TLS, if it is to be spoken.
    pub(crate) fn tls(&self) -> Option<&Arc<TlsContext>> {
        match self.listener {
            ListenerPlace::Bound(idx) => self.generation.shared.tls.get(idx)?.as_ref(),
            ListenerPlace::Inner(_) => None,
        }
    }
}
