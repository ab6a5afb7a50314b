//! The way of a request through the configuration: how far it has come, where it leads, and what is logged of it.

pub(crate) mod log;
pub(crate) mod route_progress;

use corral_config::gateway::Gateway;
use corral_config::route::{Action, Destination, Return, Share};

/// The handler of a request.
#[derive(Debug)]
pub(crate) enum RouteTarget<'c> {
    /// The application and the target with these indices.
    Application {
        app: usize,
        target: u16,
    },
    Return(&'c Return),
    Share(&'c Share),
    /// The servers with this index in `Config::upstreams`.
    Upstream(usize),
    /// The server with this index in `Config::proxies`.
    Proxy(usize),
    /// Servers that speak FastCGI or the like.
    Gateway(&'c Gateway),
    /// The answer to a preflight request is in the fields that let other sites read a reply.
    Preflight,
    /// The server itself, for `OPTIONS *`.
    Server,
    /// Another target, once the place with this index in `Config::authentications` lets the request pass.
    Authenticate(usize, AfterAuthentication<'c>),
    /// Nothing does; the status says why.
    Nothing(u16),
}

/// The part of the way that goes on once the client is known.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AfterAuthentication<'c> {
    /// The rest of an action.
    Action(&'c Action),
    /// The `pass` of a listener.
    Pass(&'c Destination),
}
