//! `fastcgi`, `scgi` and `uwsgi`: servers that are spoken to in one of these, with every default filled in.

use std::path::PathBuf;

use crate::table::Key;
use crate::template::Template;
use crate::upstream::{Proxy, Upstream};

/// A variable for a server or a program; `None` takes one of CGI's away.
pub type Param = (String, Option<Template>);

/// An action that hands requests to servers that speak FastCGI or the like.
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
    /// The folder of the scripts where it depends on the request.
    pub root: Option<Template>,
}

/// The servers of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Servers {
    /// A group of servers.
    Upstream(Key<Upstream>),
    /// A server of the action's own.
    Proxy(Key<Proxy>),
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
