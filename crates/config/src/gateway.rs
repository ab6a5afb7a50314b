//! `fastcgi`, `scgi` and `uwsgi`: servers that are spoken to in one of these, with every default filled in.

use std::fmt;
use std::path::PathBuf;

use crate::template::Template;

/// A variable for a server or a program; `None` takes one of CGI's away.
pub type Param = (String, Option<Template>);

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

/// An action that hands requests to such servers.
#[derive(Debug, Clone)]
pub struct Gateway {
    /// The servers that get the requests.
    pub servers: Servers,
    /// The servers or programs that answer there.
    pub entry: EntryPoint,
}

/// An entry point of servers or programs: the scripts that they run, and the variables that they get.
#[derive(Debug, Clone, Default)]
pub struct EntryPoint {
    /// Where the scripts are, if there are scripts.
    pub scripts: Option<Scripts>,
    /// Variables beside those of CGI, or in their place.
    pub params: Vec<Param>,
}

/// The servers of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    /// The group with this index in `Config::upstreams`.
    Upstream(usize),
    /// The group with this index in `Config::proxies`.
    Proxy(usize),
}

/// A folder of scripts, and how paths lead to them: as a target of PHP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scripts {
    /// The folder.
    pub root: PathBuf,
    /// The one that answers everything, relative to the folder and without a slash at its start.
    pub script: Option<PathBuf>,
    /// The one for a folder.
    pub index: String,
    /// Ends of the names of scripts, behind which a path is split; `None` splits it behind the first file.
    pub split_path: Option<Vec<String>>,
}
