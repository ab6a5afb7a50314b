//! The way of a request through the configuration: how far it has come, where it leads, and what is logged of it.

pub(crate) mod log;
pub(crate) mod route_progress;

use corral_config::authentication::Authentication;
use corral_config::control_service::ControlDestination;
use corral_config::gateway::Gateway;
use corral_config::plan::AppSpec;
use corral_config::route::{Action, Return, Share};
use corral_config::table::Key;
use corral_config::upstream::{DynamicProxy, Proxy, Upstream};

use self::route_progress::FieldChange;
use crate::request::identity::AuthenticatedUser;

/// The handler of a request.
#[derive(Debug)]
pub(crate) enum RouteTarget<'c> {
    /// An application, and the target with this index.
    Application {
        app: Key<AppSpec>,
        target: u16,
    },
    Return(&'c Return),
    /// Nothing: the connection is closed, or the stream reset.
    Close,
    Share(&'c Share),
    /// A redirection to the request's path with the slash that a folder's has.
    MissingSlash,
    Upstream(Key<Upstream>),
    /// The control process.
    Control(ControlDestination),
    /// A server of the action's own.
    Proxy(Key<Proxy>),
    /// The server that the request names.
    DynamicProxy(Key<DynamicProxy>),
    /// Servers that speak FastCGI or the like.
    Gateway(&'c Gateway),
    /// The answer to a preflight request is in the fields that let other sites read a reply.
    Preflight,
    /// The server itself, for `OPTIONS *`.
    Server,
    /// Another target, once these methods let the request pass.
    Authenticate(Key<Authentication>, AfterAuthentication<'c>),
    /// Nothing does; the status says why.
    Nothing(u16),
}

/// The part of the way that goes on once the client is known.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AfterAuthentication<'c> {
    /// The rest of an action.
    Action(&'c Action),
    /// The `pass` of the listener.
    Listener,
}

/// The outcome of authentication for a request that may go on.
#[derive(Debug)]
pub(crate) struct PermittedRequest<'c> {
    pub(crate) user: AuthenticatedUser,
    /// The fields that the request gets by it.
    pub(crate) changes: Vec<FieldChange<'c>>,
}
