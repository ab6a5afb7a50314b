//! Protocols of servers that run scripts.

use std::fmt;

/// A protocol that carries what CGI says of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// FastCGI 1.0, as of php-fpm.
    FastCgi,
    /// SCGI.
    Scgi,
    /// The protocol of uWSGI.
    Uwsgi,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::FastCgi, Self::Scgi, Self::Uwsgi];

    /// As the document and messages call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::FastCgi => "fastcgi",
            Self::Scgi => "scgi",
            Self::Uwsgi => "uwsgi",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name().as_bytes() == name)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
