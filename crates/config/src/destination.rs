//! Names of routes, applications and upstreams, and the text of `pass` that refers to them (contract 11.1).

use std::borrow::Cow;

use indexmap::{IndexMap, IndexSet};

use crate::json::Bytes;
use crate::percent;
use crate::plan::AppSpec;
use crate::protocol::Protocol;
use crate::route::Destination;
use crate::table::{Key, Table};
use crate::upstream::Upstream;

/// Everything that `pass` can name, in the order of the document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Destinations {
    pub(crate) routes: RouteNames,
    /// Each application with its targets; none when it has no `targets`.
    pub(crate) applications: IndexMap<Bytes, IndexMap<Bytes, TargetPlace>>,
    /// Applications that no listener reaches.
    pub(crate) background: IndexSet<Bytes>,
    pub(crate) upstreams: IndexSet<Bytes>,
    pub(crate) protocols: Table<Upstream, UpstreamProtocol>,
    /// Whether some servers of an upstream have connections alone, and no datagrams.
    pub(crate) for_streams: Table<Upstream, bool>,
}

/// The protocol that an upstream's servers are spoken to in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpstreamProtocol {
    Http1,
    /// HTTP/2, at least for some of them.
    Http2,
    Gateway(Protocol),
    /// Nothing that is known: no requests are made.
    Tcp,
}

/// Where a target is served.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TargetPlace {
    pub(crate) app: Key<AppSpec>,
    /// Among the targets of that one.
    pub(crate) target: usize,
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
    /// The path has an empty segment, more than three, or a broken escape.
    Malformed,
    /// Nothing has this name.
    Unknown,
    /// An application that no listener reaches has it.
    Background,
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
        let segments = &segments[..n_segments];
        self.find(segments).ok_or_else(|| self.why_not(segments))
    }

    /// Whether all servers of the upstream with this index speak HTTP/1.
    pub(crate) fn speak_http1(&self, upstream: Key<Upstream>) -> bool {
        self.protocols.get(upstream) == Some(&UpstreamProtocol::Http1)
    }

    /// The destination that `text`, which names none, probably means: a name without its kind, or one that is near.
    pub(crate) fn meant(&self, text: &str, nearest: fn(&str, &[String]) -> Option<String>) -> Option<String> {
        let texts: Vec<_> = self.texts().collect();
        let bare = text.trim_matches('/');
        let is_meant =
            |known: &&String| **known == bare || known.split_once('/').is_some_and(|(_, name)| name == bare);
        texts.iter().find(is_meant).cloned().or_else(|| nearest(text, &texts))
    }

    /// The texts that resolve; none if there are more than can be read at a glance.
    pub(crate) fn few(&self) -> Vec<String> {
        let texts: Vec<_> = self.texts().take(MOST_SHOWN + 1).collect();
        if texts.len() > MOST_SHOWN { Vec::new() } else { texts }
    }

    /// All texts that resolve.
    fn texts(&self) -> impl Iterator<Item = String> {
        let anonymous = matches!(self.routes, RouteNames::Anonymous).then(|| "routes".to_owned());
        let named = match &self.routes {
            RouteNames::Named(names) => Some(names),
            _ => None,
        };
        let routes = named.into_iter().flatten().map(|name| format!("routes/{}", segment(name)));
        let applications = self.applications.iter().flat_map(|(name, targets)| {
            let application = format!("applications/{}", segment(name));
            let targets: Vec<_> =
                targets.keys().map(|target| format!("{application}/{}", segment(target))).collect();
            std::iter::once(application).chain(targets)
        });
        let upstreams = self.upstreams.iter().map(|name| format!("upstreams/{}", segment(name)));
        anonymous.into_iter().chain(routes).chain(applications).chain(upstreams)
    }

    fn why_not(&self, segments: &[Cow<'_, [u8]>]) -> PassError {
        match segments {
            [kind, name, ..] if **kind == *b"applications" && self.background.contains(&**name) => {
                PassError::Background
            }
            _ => PassError::Unknown,
        }
    }

    fn find(&self, segments: &[Cow<'_, [u8]>]) -> Option<Destination> {
        let (kind, names) = segments.split_first()?;
        match (&**kind, names) {
            (b"routes", []) => {
                matches!(self.routes, RouteNames::Anonymous).then_some(Destination::Route(Key::nth(0)))
            }
            (b"routes", [name]) => {
                let RouteNames::Named(known) = &self.routes else { return None };
                known.get_index_of(&**name).map(Key::nth).map(Destination::Route)
            }
            (b"applications", [name]) => {
                let app = Key::nth(self.applications.get_index_of(&**name)?);
                Some(Destination::Application { app, target: 0 })
            }
            (b"applications", [name, target]) => {
                let &TargetPlace { app, target } = self.applications.get(&**name)?.get(&**target)?;
                Some(Destination::Application { app, target: u16::try_from(target).ok()? })
            }
            (b"upstreams", [name]) => {
                self.upstreams.get_index_of(&**name).map(Key::nth).map(Destination::Upstream)
            }
            _ => None,
        }
    }
}

/// A name as a segment of a destination.
fn segment(name: &Bytes) -> String {
    name.to_string_lossy().replace('%', "%25").replace('/', "%2F")
}

const MAX_SEGMENTS: usize = 3;

/// Destinations that a message lists.
const MOST_SHOWN: usize = 8;

#[cfg(test)]
mod tests;
