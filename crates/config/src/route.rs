//! Routes and actions as the router runs them: patterns compiled, destinations found.

mod captures;
mod conditions;
mod confinement;
mod files;
mod index;
mod maintenance;
mod path_changes;
#[cfg(test)]
pub(crate) mod sample;

use std::sync::Arc;

use self::index::StepIndex;
use crate::access_log::AccessLogs;
use crate::authentication::Authentication;
use crate::bounds::RequestBound;
use crate::control_service::ControlDestination;
use crate::cors::CorsRule;
use crate::gateway::{Gateway, Param};
use crate::mirror::Mirror;
use crate::pattern::PatternSet;
use crate::plan::AppSpec;
use crate::responses::{ContentRule, ResponseOptions};
use crate::table::Key;
use crate::template::Template;
use crate::throttle::Throttle;
use crate::upstream::{DynamicProxy, Proxy, Upstream};

pub use self::captures::{CaptureSource, Captures};
pub use self::conditions::{Facts, Match, NameSet, NameSets, Scheme, Undecided};
pub use self::confinement::Confinement;
pub use self::files::{FileKind, FileKinds, FileTest, FileTests};
pub use self::maintenance::{Maintenance, Pages};
pub use self::path_changes::{LastTry, PathChanges, ScriptNames, TryFiles};

/// Where a request goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// To an application.
    Application {
        /// The application.
        app: Key<AppSpec>,
        /// The index of its target; 0 when it has no targets.
        target: u16,
    },
    /// To a group of servers.
    Upstream(Key<Upstream>),
    /// To a route.
    Route(Key<Route>),
    /// To the control process.
    Control(ControlDestination),
    /// Known only when the variables are: `Config::resolve` turns the rendered text into one of the
    /// others.
    Template(Template),
}

/// An array of steps; the first whose conditions hold decides.
#[derive(Debug, Clone)]
pub struct Route {
    name: Option<String>,
    steps: Vec<RouteStep>,
    /// The index of the steps; absent for a short route.
    index: Option<Arc<StepIndex>>,
}

impl Route {
    /// A route of these steps.
    #[must_use]
    pub fn new(name: Option<String>, steps: Vec<RouteStep>) -> Self {
        let index = (steps.len() >= MIN_INDEXED).then(|| Arc::new(StepIndex::new(&steps)));
        Self { name, steps, index }
    }

    /// The name, or none for the only route of a `routes` array.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// In the order of the document.
    #[must_use]
    pub fn steps(&self) -> &[RouteStep] {
        &self.steps
    }

    /// The first step whose conditions hold.
    ///
    /// # Errors
    ///
    /// When it cannot be known before that whether a step's conditions hold.
    pub fn choose<F: Facts>(&self, facts: &mut F) -> Result<Option<&RouteStep>, Undecided> {
        if let Some(index) = &self.index {
            return index.choose(&self.steps, facts);
        }
        for step in &self.steps {
            if step.conditions.matches(facts)? {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }
}

/// Steps of a route from which an index is quicker than trying them one after the other.
const MIN_INDEXED: usize = 16;

/// Conditions and what to do when they hold.
#[derive(Debug, Clone)]
pub struct RouteStep {
    /// All of it must hold.
    pub conditions: Match,
    /// The action if they hold.
    pub action: Action,
    /// The groups of its expressions that templates of the action name, if any do.
    pub captures: Option<Box<Captures>>,
    /// Which step it is.
    pub key: Key<RouteStep>,
}

/// An action: the answer to a request, and everything that happens on the way to it.
#[derive(Debug, Clone)]
pub struct Action {
    /// The kind of answer.
    pub kind: ActionKind,
    /// Options that every kind of action can have.
    pub options: ActionOptions,
}

/// Options of all kinds of actions.
#[derive(Debug, Clone, Default)]
pub struct ActionOptions {
    /// Which other sites may read replies; asked before anything else of the action, so that preflight requests, which
    /// carry no credentials, are neither limited nor refused.
    pub cors: Option<CorsRule>,
    /// The times and clients for which the action is closed; checked after `cors` and before anything else.
    pub maintenance: Option<Box<Maintenance>>,
    /// Limits for clients; asked behind `maintenance` and before anything else.
    pub limits: Vec<Key<Throttle>>,
    /// The methods of authentication; asked right after the limits.
    pub authentication: Option<Key<Authentication>>,
    /// The new path and query, worked out before anything else but the limits and the authentication.
    pub path: Option<Box<PathChanges>>,
    /// Changes of the request's fields before an application or another server sees them.
    pub request_headers: Vec<HeaderChange>,
    /// Changes of the reply's fields, in the order of the document.
    pub response_headers: Vec<HeaderChange>,
    /// Replies have fields that make browsers careful.
    pub secure: bool,
    /// Options about responses beside their headers.
    pub responses: Option<Box<ResponseOptions>>,
    /// The copies of its requests.
    pub mirror: Option<Key<Mirror>>,
    /// The bounds of its requests, in the place of the server's.
    pub bounds: Vec<RequestBound>,
    /// Variables that its requests have beside their own, in applications and in servers that are spoken to as CGI
    /// has it.
    pub params: Vec<Param>,
    /// Where its requests are logged; `None` says nothing of it.
    pub access_log: Option<AccessLogs>,
    /// The actions that answer in place of errors.
    pub errors: Option<Box<ErrorActions>>,
    /// The action in the place of an answer that names a path.
    pub internal_redirect: Option<Box<Action>>,
}

impl ActionOptions {
    /// Whether anything is said that holds for this action and those that it leads to.
    #[must_use]
    pub fn hold_inside(&self) -> bool {
        !self.response_headers.is_empty()
            || !self.bounds.is_empty()
            || !self.params.is_empty()
            || self.access_log.is_some()
            || self.secure
            || self.responses.is_some()
            || self.cors.is_some()
            || self.errors.is_some()
            || self.internal_redirect.is_some()
    }

    /// Whether `response_headers` has a word on this field.
    #[must_use]
    pub fn changes(&self, field: &str) -> bool {
        self.response_headers.iter().any(|change| change.name.eq_ignore_ascii_case(field))
    }
}

/// `errors`: actions in the place of errors.
#[derive(Debug, Clone, Default)]
pub struct ErrorActions {
    /// Errors that applications answer with count too.
    pub intercept: bool,
    /// In the order of the document.
    pub actions: Vec<(Errors, Action)>,
}

/// The errors that an action stands in for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// This status.
    Status(u16),
    /// All statuses with this first digit.
    Class(u16),
}

impl ErrorActions {
    /// The action for a status; one for just this status goes before one for its class.
    #[must_use]
    pub fn find(&self, status: u16) -> Option<&Action> {
        let find =
            |wanted| self.actions.iter().find(|(errors, _)| *errors == wanted).map(|(_, action)| action);
        find(Errors::Status(status)).or_else(|| find(Errors::Class(status / 100)))
    }
}

/// One member of `request_headers` or `response_headers`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderChange {
    /// The field, as it is to be written.
    pub name: String,
    /// The new value; `None` removes the header.
    pub value: Option<Template>,
}

/// Fields of a reply that say what is in it, and for how long: what is said of them is said of what was asked for.
const ABOUT_CONTENT: [&str; 9] = [
    "Cache-Control",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Language",
    "Content-Type",
    "ETag",
    "Expires",
    "Last-Modified",
    "Pragma",
];

impl HeaderChange {
    /// Whether it is for replies of this status. An error in the place of a file is nothing to keep for a year.
    #[must_use]
    pub fn is_for(&self, status: u16) -> bool {
        (200..400).contains(&status) || !self.is_about_content()
    }

    /// Whether its field says what is in a reply, or for how long.
    #[must_use]
    pub fn is_about_content(&self) -> bool {
        ABOUT_CONTENT.iter().any(|name| name.eq_ignore_ascii_case(&self.name))
    }
}

impl Action {
    /// Calls `visit` with each `share` of this action, and of those that it leads to.
    pub fn visit_shares<'a>(&'a self, visit: &mut impl FnMut(&'a Share)) {
        if let ActionKind::Share(share) = &self.kind {
            visit(share);
        }
        self.inner().for_each(|action| action.visit_shares(visit));
    }

    /// The actions within this one.
    pub fn inner(&self) -> impl Iterator<Item = &Self> {
        let fallback = match &self.kind {
            ActionKind::Share(share) => share.fallback.as_deref(),
            _ => None,
        };
        let errors = self.options.errors.iter().flat_map(|errors| &errors.actions).map(|(_, action)| action);
        let pages = self.options.maintenance.iter().flat_map(|maintenance| maintenance.actions());
        let redirect = self.options.internal_redirect.iter().map(|action| &**action);
        fallback.into_iter().chain(errors).chain(pages).chain(redirect)
    }
}

/// The kinds of actions.
#[derive(Debug, Clone)]
pub enum ActionKind {
    /// Hand it on.
    Pass(Destination),
    /// Answer at once.
    Return(Return),
    /// Close the connection, or reset the stream, without an answer.
    Close,
    /// Answer with a file.
    Share(Share),
    /// Hand it on to a server of its own.
    Proxy(Key<Proxy>),
    /// Hand it on to the server that the request names.
    DynamicProxy(Key<DynamicProxy>),
    /// Hand it on to servers that speak FastCGI or the like.
    Gateway(Gateway),
}

/// `return`: an answer at once.
#[derive(Debug, Clone, Default)]
pub struct Return {
    /// 0 to 999.
    pub status: u16,
    /// The Location field.
    pub location: Option<Template>,
    /// The body, if it is not an error page or nothing.
    pub body: Option<Template>,
    /// The body's MIME type, if it is not plain text.
    pub content_type: Option<String>,
}

/// `share`: a static file.
#[derive(Debug, Clone)]
pub struct Share {
    /// File paths to try, in order; at least one.
    pub paths: Vec<Template>,
    /// Names appended to paths that end in a slash; the first that is there counts. At least one.
    pub index: Vec<String>,
    /// Pages are known by their names without `.html`.
    pub clean_urls: bool,
    /// MIME types that may be served; `None` means all.
    pub types: Option<PatternSet>,
    /// The action that shows the page of a single-page application when no path leads to a file.
    pub spa: Option<Box<Action>>,
    /// The action to take when no path leads to a file.
    pub fallback: Option<Box<Action>>,
    /// Bounds on the way to a file.
    pub confinement: Confinement,
    /// Answer with the entries of a folder that has no index.
    pub listing: Option<Listing>,
    /// Values of Cache-Control; the first rule that applies counts.
    pub cache_control: Vec<CacheRule>,
}

/// How folders are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Show names that start with a dot.
    pub hidden: bool,
    /// Entries of one page, at least 1.
    pub page_size: usize,
}

/// A value of Cache-Control and what it is for.
pub type CacheRule = ContentRule<Template>;

#[cfg(test)]
mod tests;
