//! `match`: what a step asks of a request (contract 9.1 and 9.2).

use std::net::SocketAddr;

use super::confinement::Confinement;
use super::files::{FileKind, FileTests};
use crate::condition::Condition;
use crate::pattern::address::AddressPatternSet;
use crate::pattern::{GivenUp, PatternSet};
use crate::template::{Exception, Variables};

/// Conditions on a request; without any, every request matches.
#[derive(Debug, Clone, Default)]
pub struct Match {
    /// Tested before the others.
    pub condition: Option<Condition>,
    /// On the request method.
    pub method: Option<PatternSet>,
    /// On the normalised Host.
    pub host: Option<PatternSet>,
    /// On the normalised, decoded path.
    pub uri: Option<PatternSet>,
    /// On the decoded query as a whole.
    pub query: Option<PatternSet>,
    /// On the query's parameters.
    pub arguments: NameSets,
    /// On request fields.
    pub headers: NameSets,
    /// On cookies.
    pub cookies: NameSets,
    /// On the user that was authenticated; a request without one never matches.
    pub remote_user: Option<PatternSet>,
    /// On the claims of a verified token.
    pub claims: NameSets,
    /// On the protocol that the client speaks.
    pub scheme: Option<Scheme>,
    /// On the client's address.
    pub source: Option<AddressPatternSet>,
    /// On the address that the client has connected to.
    pub destination: Option<AddressPatternSet>,
    /// On the file system. Tested behind the others, as it costs a system call.
    pub file: Option<Box<FileTests>>,
}

/// `scheme`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}

/// `arguments`, `headers` or `cookies`: one of the objects must hold; no object at all asks nothing.
#[derive(Debug, Clone, Default)]
pub struct NameSets(pub Vec<NameSet>);

/// One object: every name must be there, and all its values must match.
#[derive(Debug, Clone, Default)]
pub struct NameSet(pub Vec<(Vec<u8>, PatternSet)>);

/// The facts that conditions look at. A fact that is costly to work out is asked for only when a condition needs it,
/// and is absent unless an implementation provides it.
pub trait Facts: Variables {
    /// The request method.
    fn method(&self) -> &[u8];

    /// The normalised Host: lower case, without port and trailing dot; empty when there is none.
    fn host(&self) -> &[u8];

    /// The path: decoded, normalised, without query.
    fn path(&self) -> &[u8];

    /// The query as a whole, decoded; empty when there is none.
    fn query(&self) -> &[u8] {
        b""
    }

    /// The query's parameters, decoded.
    fn arguments(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        std::iter::empty()
    }

    /// Request fields.
    fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        std::iter::empty()
    }

    /// Cookies of all Cookie fields.
    fn cookies(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        std::iter::empty()
    }

    /// The user that was authenticated.
    fn user(&self) -> Option<&[u8]> {
        None
    }

    /// The values of a claim of the token that was verified.
    fn claim(&self, _name: &[u8]) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// The protocol that the client speaks.
    fn scheme(&self) -> Scheme {
        Scheme::Http
    }

    /// The client's address; `None` for a Unix socket.
    fn source(&self) -> Option<SocketAddr> {
        None
    }

    /// The address that the client has connected to; `None` for a Unix socket.
    fn destination(&self) -> Option<SocketAddr> {
        None
    }

    /// The kind of file that a path leads to now.
    fn file_kind(&self, _path: &[u8], _chroot: Option<&[u8]>, _confinement: &Confinement) -> FileKind {
        FileKind::Absent
    }
}

/// The reasons why it is unknown whether the conditions hold: the request must not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undecided {
    /// A script has thrown, or run for too long.
    #[error(transparent)]
    Script(#[from] Exception),
    /// A search has taken too long.
    #[error(transparent)]
    Pattern(#[from] GivenUp),
}

impl Match {
    /// Whether every condition holds.
    ///
    /// # Errors
    ///
    /// When a script of `if` or `file` throws or a regular expression is given up, before a condition does not hold.
    pub fn matches<F: Facts>(&self, facts: &mut F) -> Result<bool, Undecided> {
        if let Some(condition) = &self.condition
            && !condition.holds(facts)?
        {
            return Ok(false);
        }
        Ok(self.matches_line(facts)?
            && self.matches_fields(facts)?
            && self.matches_user(facts)?
            && self.matches_connection(facts)
            && self.file.as_ref().map_or(Ok(true), |file| file.hold(facts))?)
    }

    /// Whether anything is asked that is not worked out without need.
    pub(super) fn is_costly(&self) -> bool {
        self.condition.is_some() || self.file.is_some()
    }

    fn matches_line<F: Facts>(&self, facts: &F) -> Result<bool, GivenUp> {
        let holds = |set: &Option<PatternSet>, value| set.as_ref().map_or(Ok(true), |set| set.matches(value));
        Ok(holds(&self.uri, facts.path())?
            && holds(&self.host, facts.host())?
            && holds(&self.method, facts.method())?
            && self.query.as_ref().map_or(Ok(true), |query| query.matches(facts.query()))?
            && self.arguments.hold(|wanted, set| all_match(facts.arguments(), |name| name == wanted, set))?)
    }

    fn matches_fields<F: Facts>(&self, facts: &F) -> Result<bool, GivenUp> {
        let hold = |wanted: &[u8], set: &PatternSet| {
            all_match(facts.fields(), |name| name.eq_ignore_ascii_case(wanted), set)
        };
        Ok(self.headers.hold(hold)?
            && self.cookies.hold(|wanted, set| all_match(facts.cookies(), |name| name == wanted, set))?)
    }

    fn matches_user<F: Facts>(&self, facts: &F) -> Result<bool, GivenUp> {
        let is_meant = match (&self.remote_user, facts.user()) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(set), Some(user)) => set.matches(user)?,
        };
        let hold = |name: &[u8], set: &PatternSet| set.matches_some(&facts.claim(name));
        Ok(is_meant && self.claims.hold(hold)?)
    }

    fn matches_connection<F: Facts>(&self, facts: &F) -> bool {
        self.scheme.is_none_or(|scheme| scheme == facts.scheme())
            && self.source.as_ref().is_none_or(|source| source.matches(facts.source()))
            && self.destination.as_ref().is_none_or(|local| local.matches(facts.destination()))
    }
}

impl NameSets {
    /// `test` tells whether a name is there and all its values match.
    fn hold(&self, test: impl Fn(&[u8], &PatternSet) -> Result<bool, GivenUp>) -> Result<bool, GivenUp> {
        for set in &self.0 {
            if set.holds(&test)? {
                return Ok(true);
            }
        }
        Ok(self.0.is_empty())
    }
}

impl NameSet {
    fn holds(&self, test: impl Fn(&[u8], &PatternSet) -> Result<bool, GivenUp>) -> Result<bool, GivenUp> {
        for (name, set) in &self.0 {
            if !test(name, set)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether there is a pair of this name, and the values of all of them match.
fn all_match<'f>(
    pairs: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    is_meant: impl Fn(&[u8]) -> bool,
    set: &PatternSet,
) -> Result<bool, GivenUp> {
    let mut is_there = false;
    for (_, value) in pairs.filter(|(name, _)| is_meant(name)) {
        is_there = true;
        if !set.matches(value)? {
            return Ok(false);
        }
    }
    Ok(is_there)
}
