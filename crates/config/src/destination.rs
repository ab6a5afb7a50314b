//! Names of routes, applications and upstreams, and the text of `pass` that refers to them (UNIT-COMPAT 11.1).

use std::borrow::Cow;

use indexmap::{IndexMap, IndexSet};

use crate::json::Bytes;
use crate::percent;
use crate::route::Destination;

/// Everything that `pass` can name, in the order of the document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Destinations {
    pub(crate) routes: RouteNames,
    /// Each application with the names of its targets; none when it has no `targets`.
    pub(crate) applications: IndexMap<Bytes, Vec<Bytes>>,
    pub(crate) upstreams: IndexSet<Bytes>,
}

/// How `routes` is written.
#[derive(Debug, Clone, Default)]
pub(crate) enum RouteNames {
    #[default]
    Missing,
    /// One array: referred to as `routes`.
    Anonymous,
    /// An object: referred to as `routes/NAME`.
    Named(IndexSet<Bytes>),
}

/// Why a text names no destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassError {
    /// It has an empty segment, more than three, or a broken escape.
    Malformed,
    /// Nothing has this name.
    Unknown,
}

impl Destinations {
    /// Finds what `text` names.
    pub(crate) fn resolve(&self, text: &[u8]) -> Result<Destination, PassError> {
        let mut segments: [Cow<'_, [u8]>; MAX_SEGMENTS] = Default::default();
        let mut n_segments = 0;
        for raw in text.split(|&byte| byte == b'/') {
            let segment = percent::decode(raw).filter(|segment| !segment.is_empty());
            let slot = segments.get_mut(n_segments).ok_or(PassError::Malformed)?;
            *slot = segment.ok_or(PassError::Malformed)?;
            n_segments += 1;
        }
        self.find(&segments[..n_segments]).ok_or(PassError::Unknown)
    }

    /// All texts that resolve, for suggestions.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        let anonymous = matches!(self.routes, RouteNames::Anonymous).then(|| "routes".to_owned());
        let named = match &self.routes {
            RouteNames::Named(names) => Some(names),
            _ => None,
        };
        let routes = named.into_iter().flatten().map(|name| format!("routes/{name}"));
        let applications = self.applications.keys().map(|name| format!("applications/{name}"));
        let upstreams = self.upstreams.iter().map(|name| format!("upstreams/{name}"));
        anonymous.into_iter().chain(routes).chain(applications).chain(upstreams)
    }

    fn find(&self, segments: &[Cow<'_, [u8]>]) -> Option<Destination> {
        let (kind, names) = segments.split_first()?;
        match (&**kind, names) {
            (b"routes", []) => matches!(self.routes, RouteNames::Anonymous).then_some(Destination::Route(0)),
            (b"routes", [name]) => {
                let RouteNames::Named(known) = &self.routes else { return None };
                known.get_index_of(&**name).map(Destination::Route)
            }
            (b"applications", [name]) => {
                let app = self.applications.get_index_of(&**name)?;
                Some(Destination::Application { app, target: 0 })
            }
            (b"applications", [name, target]) => {
                let (app, _, targets) = self.applications.get_full(&**name)?;
                let target = targets.iter().position(|known| **known == **target)?;
                Some(Destination::Application { app, target: u16::try_from(target).ok()? })
            }
            (b"upstreams", [name]) => self.upstreams.get_index_of(&**name).map(Destination::Upstream),
            _ => None,
        }
    }
}

const MAX_SEGMENTS: usize = 3;

#[cfg(test)]
mod tests;
