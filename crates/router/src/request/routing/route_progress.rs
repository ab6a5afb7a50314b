//! How far a request has come on its way through the configuration.

use std::cell::OnceCell;
use std::ptr;
use std::rc::Rc;
use std::time::Duration;

use corral_config::abandoned::Abandoned;
use corral_config::access_log::AccessLogs;
use corral_config::bounds::RequestBounds;
use corral_config::cors::{Cors, CorsRule};
use corral_config::gateway::Param;
use corral_config::mirror::Mirror;
use corral_config::responses::ResponseOptions;
use corral_config::route::{Action, ActionKind, ActionOptions, ErrorActions, HeaderChange};
use corral_config::table::Key;
use smallvec::SmallVec;

use crate::limits::{ConcurrencyPermit, DelayedTurn};

/// Where a request stands on its way through the configuration.
#[derive(Debug, Default)]
pub(crate) struct RouteProgress<'c> {
    /// The actions that say something which holds inside, the innermost last: what one of them leads to is inside of
    /// it, be it by `pass`, as its `fallback` or in the place of an error.
    pub(crate) layers: SmallVec<[&'c Action; 2]>,
    pub(crate) n_actions: u16,
    /// The action that was gone into last, which answers.
    last: Option<&'c Action>,
    /// The pages of an action that is closed, which go before all `errors`.
    pub(crate) closed: Option<&'c ErrorActions>,
    /// The copies of it that other servers get; of the last action that has any.
    pub(crate) mirror: Option<Key<Mirror>>,
    /// An answer has done so.
    pub(crate) is_redirected: bool,
    /// The answer in the place of an error or of another answer, before it is followed.
    pub(crate) stand_in: Option<StandIn<'c>>,
    /// The error that such an action has been found for. There is only one in a request.
    pub(crate) error: Option<u16>,
    /// The status that this action's 200 becomes.
    pub(crate) kept_status: Option<u16>,
    /// How long limits have it wait before it is answered.
    pub(crate) delay: Duration,
    /// The request's turns in limits, given back if it does not wait for them.
    pub(crate) turns: Vec<DelayedTurn>,
    /// The permits of limits, until the request is over.
    pub(crate) held: Vec<ConcurrencyPermit>,
    /// Whether it is run if its client leaves while it waits.
    pub(crate) abandoned: Abandoned,
    /// The request's place among those that are run although their clients have left.
    pub(crate) without_client: OnceCell<Rc<()>>,
}

impl<'c> RouteProgress<'c> {
    /// Goes into an action.
    pub(crate) fn enter(&mut self, action: &'c Action) {
        self.n_actions += 1;
        self.last = Some(action);
        if action.options.hold_inside() {
            self.go_inside(action);
        }
    }

    /// Notes that what follows is inside of an action. False if it is already: one that is come through again says
    /// nothing new.
    pub(crate) fn go_inside(&mut self, action: &'c Action) -> bool {
        let is_new = !self.layers.iter().any(|layer| ptr::eq(*layer, action));
        if is_new {
            self.layers.push(action);
        }
        is_new
    }

    /// The innermost action that has something of its own to say, which whatever is said there is inside of.
    pub(crate) fn leave_to<T>(&mut self, said: impl Fn(&'c ActionOptions) -> Option<T>) -> Option<T> {
        let found = self.layers.iter().map(|layer| said(&layer.options)).enumerate().rev();
        let (idx, said) = found.filter_map(|(idx, said)| Some((idx, said?))).next()?;
        self.layers.truncate(idx + 1);
        Some(said)
    }

    /// Whether another answer came before: the request's method and body were meant for that.
    pub(crate) fn answers_in_place(&self) -> bool {
        self.answers_error() || self.is_redirected
    }

    /// Whether an error is being answered: its page does not depend on method and conditions of the request.
    pub(crate) fn answers_error(&self) -> bool {
        self.error.is_some()
    }

    /// The status that an error's page is sent with: the first error, whatever came of the action in its place.
    pub(crate) fn first_error(&self, status: u16) -> u16 {
        self.error.unwrap_or(status)
    }

    /// The status of a reply: a page in the place of an error keeps the error's.
    pub(crate) fn final_status(&self, status: u16) -> u16 {
        self.kept_status.filter(|_| status == 200).unwrap_or(status)
    }

    /// The sites whose scripts may read the reply.
    pub(crate) fn cors(&self) -> Option<&'c Cors> {
        match self.layers.iter().rev().find_map(|layer| layer.options.cors.as_ref())? {
            CorsRule::On(cors) => Some(cors),
            CorsRule::Off => None,
        }
    }

    /// The innermost word on responses, which an outer one gives way to.
    pub(crate) fn says<T>(&self, said: impl Fn(&'c ResponseOptions) -> Option<T>) -> Option<T> {
        self.layers.iter().rev().filter_map(|layer| layer.options.responses.as_deref()).find_map(said)
    }

    /// The same of what is said about the content of an action, which is not said of a reply in its place.
    pub(crate) fn says_of_content<T>(&self, said: impl Fn(&'c ResponseOptions) -> Option<T>) -> Option<T> {
        let layers = self.layers.iter().rev().filter(|layer| !self.is_stood_in_for(layer));
        layers.filter_map(|layer| layer.options.responses.as_deref()).find_map(said)
    }

    /// Whether `substitute` is for bodies of this type.
    pub(crate) fn substitutes_in(&self, content_type: &[u8]) -> bool {
        let bare = content_type.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii_end();
        match self.says(|options| options.substitute_types.as_ref()) {
            None => bare.eq_ignore_ascii_case(b"text/html"),
            Some(types) => types.matches(bare).unwrap_or_else(|given_up| {
                tracing::warn!("{given_up}; no texts of a response are replaced");
                false
            }),
        }
    }

    /// Whether another action answers in the place of one.
    fn is_stood_in_for(&self, layer: &'c Action) -> bool {
        !matches!(layer.kind, ActionKind::Pass(_)) && !self.last.is_some_and(|last| ptr::eq(last, layer))
    }

    /// The bounds of the server with those in their place that the actions on the way have; none if they have none.
    pub(crate) fn bounds(&self, of_server: &RequestBounds) -> Option<RequestBounds> {
        let mut own = self.layers.iter().flat_map(|layer| &layer.options.bounds).peekable();
        own.peek()?;
        let mut bounds = *of_server;
        own.for_each(|bound| bounds.set(*bound));
        Some(bounds)
    }

    /// The variables that actions on the way give to an application, the innermost last.
    pub(crate) fn params(&self) -> impl Iterator<Item = &'c Param> + use<'c, '_> {
        self.layers.iter().flat_map(|layer| &layer.options.params)
    }

    /// Where the request is logged, if an action on the way says so.
    pub(crate) fn access_logs(&self) -> Option<&'c AccessLogs> {
        self.layers.iter().rev().find_map(|layer| layer.options.access_log.as_ref())
    }

    /// The changes of a reply's fields, from the outermost action to the innermost, which has the last word on a field.
    /// A change that is about the content of an action is not made to a reply in its place.
    pub(crate) fn changes(&self, status: u16) -> impl Iterator<Item = &'c HeaderChange> + use<'c, '_> {
        let layers = &self.layers;
        layers.iter().enumerate().flat_map(move |(idx, layer)| {
            let inner = &layers[idx + 1..];
            let is_stood_in_for = self.is_stood_in_for(layer);
            layer.options.response_headers.iter().filter(move |change| {
                change.is_for(status)
                    && !(is_stood_in_for && change.is_about_content())
                    && !inner.iter().any(|layer| layer.options.changes(&change.name))
            })
        })
    }
}

/// An answer in the place of another.
#[derive(Debug)]
pub(crate) enum StandIn<'c> {
    Action(&'c Action),
    /// The answer has named another path, and a query with it if it has one.
    Redirected {
        action: &'c Action,
        path: Vec<u8>,
        query: Option<Vec<u8>>,
    },
    /// An error of this status.
    Nothing(u16),
}

/// A field that differs from what the client has sent.
#[derive(Debug)]
pub(crate) struct FieldChange<'c> {
    pub(crate) name: &'c [u8],
    /// `None` when it is left out.
    pub(crate) value: Option<Vec<u8>>,
}
