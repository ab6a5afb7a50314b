//! The objects of a configuration that others name by keys.

use crate::abandoned::Abandoned;
use crate::access_log::AccessLog;
use crate::authentication::Authentication;
use crate::gateway::EntryPoint;
use crate::listener::Listener;
use crate::map::Map;
use crate::mirror::Mirror;
use crate::route::{RouteStep, TryFiles};
use crate::table::{InnerListener, Key, NamedMap, Table};
use crate::throttle::Throttle;
use crate::upstream::{DynamicProxy, Proxy, Upstream};

/// The objects that are written within listeners, actions and applications, and that these name by keys. A new kind of
/// object gets its table here.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    /// The access logs of the document and of its actions, each different one once.
    pub access_logs: Table<AccessLog>,
    /// Limits for clients.
    pub throttles: Table<Throttle>,
    /// Copies of requests for other servers.
    pub mirrors: Table<Mirror>,
    /// The tables that variables are looked up in, in the order of the document.
    pub maps: Table<NamedMap, Map>,
    /// A template tells of the servers that requests are passed to.
    pub wants_upstreams: bool,
    /// The methods of authentication.
    pub authentications: Table<Authentication>,
    /// The groups that actions with a server of their own stand for, each different one once.
    pub proxies: Table<Proxy, Upstream>,
    /// The files that actions try.
    pub tries: Table<TryFiles>,
    /// Where each step of a route is in the document, as JSON pointers.
    pub steps: Table<RouteStep, String>,
    /// Actions whose server depends on the request.
    pub dynamic_proxies: Table<DynamicProxy>,
    /// Where the router is its own client: they are connected to within the process, and bound nowhere.
    pub inner_listeners: Table<InnerListener, Listener>,
}

/// The router's part of an application.
#[derive(Debug, Clone, Default)]
pub struct AppPolicy {
    /// Limits for clients.
    pub limits: Vec<Key<Throttle>>,
    /// The requests that are run without their clients.
    pub abandoned: Abandoned,
    /// One for each target of the application, if it is of type `fastcgi` or `cgi`, or has `params`; empty for others.
    pub entries: Vec<EntryPoint>,
}
