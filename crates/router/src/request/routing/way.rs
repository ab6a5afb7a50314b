//! How far a request has come on its way through the configuration.

use std::cell::OnceCell;
use std::rc::Rc;
use std::time::Duration;

use corral_config::abandoned::Abandoned;
use corral_config::cors::Cors;
use corral_config::route::{Action, ErrorActions};

use crate::limits::{Held, Turn};

/// Where a request stands on its way through the configuration.
#[derive(Debug, Default)]
pub(crate) struct Way<'c> {
    /// The last action: its options are those that count.
    pub(crate) action: Option<&'c Action>,
    pub(crate) n_actions: u16,
    /// Of the last action that has any.
    pub(crate) errors: Option<&'c ErrorActions>,
    /// The sites whose scripts may read the reply, as the first action says that has an opinion.
    pub(crate) cors: Option<&'c Cors>,
    /// The copies of it that other servers get, as a place in `Config::mirrors`; of the last action that has any.
    pub(crate) mirror: Option<usize>,
    /// The action that answers in the place of answers that redirect, as the last action says that has one.
    pub(crate) internal_redirect: Option<&'c Action>,
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
    /// Its turns in limits, which it gives back if it does not wait for them.
    pub(crate) turns: Vec<Turn>,
    /// Its places in limits, until it is over.
    pub(crate) held: Vec<Held>,
    /// What becomes of it if its client leaves while it waits.
    pub(crate) abandoned: Abandoned,
    /// Its client has left, and it is run all the same: its place among such requests.
    pub(crate) without_client: OnceCell<Rc<()>>,
}

/// An answer in the place of another.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StandIn<'c> {
    Action(&'c Action),
    /// An error of this status.
    Nothing(u16),
}

/// A field that differs from what the client has sent.
#[derive(Debug)]
pub(crate) struct FieldChange<'c> {
    pub(crate) name: &'c [u8],
    /// None when it is left out.
    pub(crate) value: Option<Vec<u8>>,
}
