//! One configuration in force: what the request path reads, and nothing that it writes.

pub(crate) mod listener_settings;
pub(crate) mod request_settings;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use corral_channel::Lane;
use corral_config::Config;
use corral_config::access_log::AccessLog;
use corral_config::address::ListenAddress;
use corral_config::listener::Listener;
use corral_config::plan::AppSpec;
use corral_config::table::Table;
use corral_script::{CompiledProgram, Engine};

use crate::authentication::Authenticators;
use crate::generation::request_settings::RequestSettings;
use crate::instance::{InstanceLease, LoopApp};
use crate::limits::ClientLimits;
use crate::mirrors::Mirrors;
use crate::observe::access_log::AccessLogWriter;
use crate::observe::request_counts::{ListenerCounts, StepCounts};
use crate::observe::telemetry::Telemetry;
use crate::tls::TlsContext;
use crate::upstream::{LoopGroups, LoopServers, ServerGroups};

/// A configuration with everything that it names in place. Shared by all event loops.
pub(crate) struct Generation {
    pub(crate) config: Config,
    /// Where each listener is in `config.listeners`.
    pub(crate) listener_places: HashMap<ListenAddress, usize>,
    pub(crate) leases: Table<AppSpec, Arc<InstanceLease>>,
    pub(crate) request_settings: RequestSettings,
    /// Limits for clients.
    pub(crate) limits: ClientLimits,
    /// Copies of requests.
    pub(crate) mirrors: Mirrors,
    /// The means by which clients are known.
    pub(crate) authenticators: Authenticators,
    pub(crate) access_logs: Table<AccessLog, AccessLogWriter>,
    /// In the order of `config.listeners`.
    pub(crate) listener_counts: Vec<Arc<ListenerCounts>>,
    pub(crate) step_counts: StepCounts,
    pub(crate) program: Arc<CompiledProgram>,
    pub(crate) telemetry: Option<Arc<Telemetry>>,
    /// In the order of `config.listeners`.
    pub(crate) tls: Vec<Option<Arc<TlsContext>>>,
    /// The servers of upstreams and proxies.
    pub(crate) servers: ServerGroups,
}

/// A generation as one event loop uses it: counted without atomics.
pub(crate) struct LoopGeneration {
    pub(crate) shared: Arc<Generation>,
    /// A copy of the shared one: compiled patterns have scratch memory that only one thread gets without a lock. The
    /// control thread makes and frees it, as that takes a while when there are many routes.
    pub(crate) config: Arc<Config>,
    pub(crate) apps: Table<AppSpec, Rc<LoopApp>>,
    /// Evaluates the templates that are JavaScript.
    pub(crate) scripts: Engine,
    /// The servers of upstreams and proxies.
    pub(crate) servers: LoopGroups,
}

impl Generation {
    /// The logs of requests and connections about which no action says anything.
    pub(crate) fn common_logs(&self) -> impl Iterator<Item = &AccessLogWriter> {
        self.config.access_logs.iter().map(|log| &self.access_logs[*log])
    }

    /// The listeners, each with its TLS if it has any.
    pub(crate) fn listeners(&self) -> impl Iterator<Item = (&Listener, Option<&Arc<TlsContext>>)> {
        self.config.listeners.iter().zip(self.tls.iter().map(Option::as_ref))
    }
}

impl LoopGeneration {
    /// The part of one event loop, of which the servers are, and this lane.
    pub(crate) fn new(
        shared: Arc<Generation>,
        config: Arc<Config>,
        apps: Table<AppSpec, Rc<LoopApp>>,
        (servers, lane): (&LoopServers, Lane),
    ) -> Self {
        let servers = LoopGroups::new(servers, &shared.servers, lane);
        let scripts = Engine::new(Arc::clone(&shared.program));
        Self { shared, config, apps, scripts, servers }
    }

    /// The index of the listener at this address.
    pub(crate) fn find_listener(&self, address: &ListenAddress) -> Option<usize> {
        self.shared.listener_places.get(address).copied()
    }
}
