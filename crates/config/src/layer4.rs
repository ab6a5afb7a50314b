//! Listeners whose connections and datagrams go to servers as they are, whatever is spoken on them (beyond Unit).

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use crate::table::Key;
use crate::upstream::Upstream;

/// The protocol of a listener.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListenerProtocol {
    /// Requests.
    #[default]
    Http,
    /// Connections, which are passed on.
    Tcp,
    /// Datagrams, which are passed on.
    Udp,
}

impl ListenerProtocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Http, Self::Tcp, Self::Udp];

    /// As the document calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

impl fmt::Display for ListenerProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How the connections of a listener are passed on, or its datagrams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer4 {
    /// The servers; `None` if there are some for names alone.
    pub pass: Option<Key<Upstream>>,
    /// The servers of those clients of TLS that ask for a name.
    pub sni: ServerNames,
    /// The longest time without a byte in either direction.
    pub idle_timeout: Duration,
    /// How long connections go on when the listener has left the configuration.
    pub drain_timeout: Duration,
    /// The session of a client that sends datagrams.
    pub sessions: SessionLimits,
}

/// Bounds on sessions: a client's address and port, and the server that its datagrams go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// At the same time.
    pub most: u32,
    /// Datagrams of the server for each of the client; a session ends with the last one of them. `None` means any
    /// number.
    pub responses: Option<u32>,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { most: 10_000, responses: None }
    }
}

/// Groups of servers by the host names that clients of TLS ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerNames {
    by_name: HashMap<String, Key<Upstream>>,
    /// By the domain whose subdomains are meant.
    below: HashMap<String, Key<Upstream>>,
}

impl ServerNames {
    /// Adds a name in lower case, or `*.` and a domain. False if it was there already.
    pub(crate) fn add(&mut self, name: &str, upstream: Key<Upstream>) -> bool {
        let known = match name.strip_prefix("*.") {
            Some(domain) => self.below.insert(domain.to_owned(), upstream),
            None => self.by_name.insert(name.to_owned(), upstream),
        };
        known.is_none()
    }

    /// Whether there is no name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty() && self.below.is_empty()
    }

    /// The group for a name: its own, or that of the longest domain that it is below.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Key<Upstream>> {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let domains = name.match_indices('.').map(|(dot, _)| &name[dot + 1..]);
        self.by_name
            .get(&name)
            .or_else(|| domains.filter_map(|domain| self.below.get(domain)).next())
            .copied()
    }

    /// The groups, in no order.
    pub fn upstreams(&self) -> impl Iterator<Item = Key<Upstream>> {
        self.by_name.values().chain(self.below.values()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], asked: &str, expect: Option<usize>) {
        let mut known = ServerNames::default();
        for (idx, name) in names.iter().enumerate() {
            assert!(known.add(name, Key::nth(idx)), "{name}");
        }
        assert_eq!(known.find(asked), expect.map(Key::nth), "{asked}");
    }

    #[test]
    fn names_are_found_with_the_longest_domain() {
        const NAMES: &[&str] = &["a.example.com", "*.example.com", "*.b.example.com", "*.com"];
        check(NAMES, "a.example.com", Some(0));
        check(NAMES, "A.Example.COM.", Some(0));
        check(NAMES, "c.example.com", Some(1));
        check(NAMES, "d.c.example.com", Some(1));
        check(NAMES, "d.b.example.com", Some(2));
        check(NAMES, "b.example.com", Some(1));
        check(NAMES, "example.com", Some(3));
        check(NAMES, "com", None);
        check(NAMES, "example.org", None);
        for odd in ["", ".", "..", ".com.", "xn--", "a\0.example.org"] {
            check(&["a.example.com", "*.example.com"], odd, None);
        }
    }
}
