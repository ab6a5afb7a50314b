//! Document in, validated configuration or errors out. Pure: no files, no sockets.
//!
//! Three stages, three types: a [`json::Value`] is the document as it was sent, a [`Config`] is its meaning and cannot
//! be wrong, and the generation that runs it belongs to the router and main, which gets a [`plan::Plan`].
//! [`validate()`] leads from the first to the second.

#![forbid(unsafe_code)]

pub mod abandoned;
pub mod access_log;
pub mod address;
pub mod authentication;
pub mod bounds;
pub mod condition;
pub mod control_service;
pub mod cors;
mod destination;
pub mod fuzz;
pub mod gateway;
pub mod json;
mod known;
pub mod layer4;
pub mod listener;
pub mod map;
pub mod mirror;
pub mod pattern;
pub mod percent;
pub mod plan;
mod problem;
pub mod protocol;
pub mod query;
pub mod responses;
pub mod root;
pub mod route;
pub mod schedule;
pub mod settings;
pub mod table;
mod tables;
pub mod template;
pub mod throttle;
pub mod tls;
pub mod upstream;
mod validate;

use self::access_log::AccessLog;
use self::destination::Destinations;
pub use self::known::{FolderCheck, Known, KnownModule, ScriptCheck};
use self::listener::Listener;
use self::plan::{AppSpec, AssetNames, ListenerPlan, Plan};
pub use self::problem::{Problem, Stage};
use self::route::{Action, Destination, Route};
use self::settings::Settings;
use self::table::{Key, Table};
pub use self::tables::{AppPolicy, Tables};
use self::upstream::Upstream;
pub use self::validate::{
    DocumentedOption, OptionTable, compare_versions, configuration_schema, option_tables, process_groups,
    validate,
};

/// A configuration without contradictions: every name that is referred to exists.
///
/// Threads that match many requests should each have a clone: the scratch memory of a regular
/// expression is free of locks only for the thread that used it first.
#[derive(Debug, Clone)]
pub struct Config {
    /// In the order of the document.
    pub listeners: Vec<Listener>,
    /// In the order of the document; a single one without name when `routes` is an array.
    pub routes: Table<Route>,
    /// The action that whatever comes to a route is inside of. Where it passes to has no meaning.
    pub route_defaults: Option<Box<Action>>,
    /// In the order of the document.
    pub applications: Table<AppSpec>,
    /// The part of each application that the router alone knows: a change of that starts no processes.
    pub app_policies: Table<AppSpec, AppPolicy>,
    /// Background applications, which no listener reaches, in the order of the document.
    pub background: Vec<AppSpec>,
    /// In the order of the document.
    pub upstreams: Table<Upstream>,
    /// The objects that listeners, actions and applications name by keys.
    pub tables: Tables,
    /// With every default filled in.
    pub settings: Settings,
    /// Where requests are logged whose actions say nothing else.
    pub access_logs: Vec<Key<AccessLog>>,
    /// The certificate bundles and JavaScript modules that it names.
    pub assets: AssetNames,
    destinations: Destinations,
}

impl Config {
    /// The destination that `text`, a rendered `pass`, names; never a `Destination::Template`. `None` means that the
    /// request is answered with 404.
    #[must_use]
    pub fn resolve(&self, text: &[u8]) -> Option<Destination> {
        self.destinations.resolve(text).ok()
    }

    /// The outermost actions: the `defaults` of listeners and routes.
    pub fn all_defaults(&self) -> impl Iterator<Item = &Action> {
        let of_listeners = self.listeners.iter().filter_map(|listener| listener.defaults.as_deref());
        of_listeners.chain(self.route_defaults.as_deref())
    }

    /// Collects everything that the main process needs to know.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let listeners = self
            .listeners
            .iter()
            .map(|listener| ListenerPlan { address: listener.address.clone(), backlog: listener.backlog });
        Plan {
            listeners: listeners.collect(),
            applications: self.applications.values().to_vec(),
            background: self.background.clone(),
            access_logs: self.tables.access_logs.iter().map(|log| log.path.clone()).collect(),
            listen_threads: self.settings.listen_threads,
            log: self.settings.log,
        }
    }
}
