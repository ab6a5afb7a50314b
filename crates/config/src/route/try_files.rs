//! `try`: paths that are looked for below a folder. The first one that is there takes the place of the request's.

use super::Share;
use crate::plan::AppSpec;
use crate::table::Key;
use crate::template::Rewrite;

/// The files that an action looks for before it goes on.
#[derive(Debug, Clone)]
pub struct TryFiles {
    /// Where it is written, as a JSON pointer.
    pub place: String,
    /// The application that answers, with the index of its target; its scripts are looked for.
    pub application: Option<(Key<AppSpec>, u16)>,
    /// Paths that are looked for, in their order.
    pub candidates: Vec<Rewrite>,
    /// The end of the search if none is there.
    pub last: LastTry,
    /// The files of a folder that are looked for, in their order.
    pub index: Vec<String>,
    /// The files that are not sent, but run by what the action leads to.
    pub scripts: ScriptNames,
    /// How all other files are found and sent: by its one path. `None` where the action is a share itself.
    pub files: Option<Share>,
}

/// The end of a list of paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastTry {
    /// The request goes on as it is.
    Request,
    /// This path, whatever it leads to.
    Path(Rewrite),
    /// An error.
    Status(u16),
}

/// How scripts are told from other files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptNames {
    /// By the ends of their names, byte for byte.
    Ends(Vec<String>),
    /// Every file is one.
    All,
}
