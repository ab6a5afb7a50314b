//! `maintenance`: a page for all clients but a few, while people work on the site (beyond Unit).

use std::path::PathBuf;

use super::{Action, ErrorActions};
use crate::pattern::address::AddressPatternSet;

/// The times and clients for which an action is closed.
#[derive(Debug, Clone)]
pub struct Maintenance {
    /// The path at which something is while the site is closed; `None` means always.
    pub file: Option<PathBuf>,
    /// Clients that get through.
    pub allow: AddressPatternSet,
    /// The status of a refusal, 400 to 599.
    pub status: u16,
    /// Seconds after which a client may try again, for `Retry-After`.
    pub retry_after: Option<u32>,
    /// The pages of a refusal; `None` means that it is an error like others.
    pub pages: Option<Box<Pages>>,
}

/// The pages of a refusal, as actions in the place of its error.
#[derive(Debug, Clone)]
pub struct Pages {
    /// For people.
    pub html: ErrorActions,
    /// For clients that prefer JSON.
    pub json: ErrorActions,
}

impl Maintenance {
    /// The actions that send the pages.
    pub(super) fn actions(&self) -> impl Iterator<Item = &Action> {
        let pages = self.pages.iter().flat_map(|pages| [&pages.html, &pages.json]);
        pages.flat_map(|errors| &errors.actions).map(|(_, action)| action)
    }
}
