//! Listeners whose connections go to servers as they are, whatever is spoken on them (beyond Unit).

use std::fmt;
use std::time::Duration;

use crate::table::Key;
use crate::upstream::Upstream;

/// What a listener carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListenerProtocol {
    /// Requests.
    #[default]
    Http,
    /// Connections, which are passed on.
    Tcp,
}

impl ListenerProtocol {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Http, Self::Tcp];

    /// As the document calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Tcp => "tcp",
        }
    }
}

impl fmt::Display for ListenerProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How the connections of a listener are passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer4 {
    /// The servers.
    pub pass: Key<Upstream>,
    /// The longest time without a byte in either direction.
    pub idle_timeout: Duration,
    /// How long connections go on when the listener has left the configuration.
    pub drain_timeout: Duration,
}
