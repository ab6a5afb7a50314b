//! Changes of an action to the path, in this order: its prefixes, its rewrite, and the files that it tries.

use super::Share;
use crate::plan::AppSpec;
use crate::table::Key;
use crate::template::Rewrite;

/// The changes of an action to the path, and to the query.
#[derive(Debug, Clone, Default)]
pub struct PathChanges {
    /// Taken away from the front of the path, which stays as it is if it does not begin so: whole segments, with a
    /// slash in front and none behind.
    pub strip_prefix: Option<Vec<u8>>,
    /// Put in front of the path, of the same form.
    pub add_prefix: Option<Vec<u8>>,
    /// The new path and query.
    pub rewrite: Option<Rewrite>,
    /// The files that are looked for.
    pub try_files: Option<Key<TryFiles>>,
}

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

impl PathChanges {
    /// The path, which is decoded and normalised, with the other prefix; none if it stays what it is.
    #[must_use]
    pub fn change_prefix(&self, path: &[u8]) -> Option<Vec<u8>> {
        let stripped = self.strip_prefix.as_ref().and_then(|prefix| strip(path, prefix));
        let added = self.add_prefix.as_deref().unwrap_or_default();
        (stripped.is_some() || !added.is_empty()).then(|| [added, stripped.unwrap_or(path)].concat())
    }
}

/// The path behind the prefix, if that is made of its first segments.
fn strip<'p>(path: &'p [u8], prefix: &[u8]) -> Option<&'p [u8]> {
    match path.strip_prefix(prefix)? {
        b"" => Some(b"/"),
        rest => rest.starts_with(b"/").then_some(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::PathChanges;

    #[track_caller]
    fn check(strip: &str, add: &str, path: &str, expect: Option<&str>) {
        let prefix = |text: &str| (!text.is_empty()).then(|| text.as_bytes().to_vec());
        let changes =
            PathChanges { strip_prefix: prefix(strip), add_prefix: prefix(add), ..PathChanges::default() };
        let path = changes.change_prefix(path.as_bytes());
        assert_eq!(path.as_deref(), expect.map(str::as_bytes), "{path:?}");
    }

    #[test]
    fn whole_segments_are_taken_away() {
        check("/api", "", "/api", Some("/"));
        check("/api", "", "/api/", Some("/"));
        check("/api", "", "/api/v1/x/", Some("/v1/x/"));
        check("/api/v1", "", "/api/v1/x", Some("/x"));
        for path in ["/", "/apix", "/apix/api", "/x/api", "/API/x", "/ap", "/api.json"] {
            check("/api", "", path, None);
        }
    }

    #[test]
    fn one_is_put_in_front() {
        check("", "/app", "/", Some("/app/"));
        check("", "/app", "/x", Some("/app/x"));
        check("", "/app", "/app/x", Some("/app/app/x"));
    }

    #[test]
    fn one_takes_the_place_of_another() {
        check("/old", "/new", "/old/x", Some("/new/x"));
        check("/old", "/new", "/old", Some("/new/"));
        check("/old", "/new", "/older", Some("/new/older"));
        check("", "", "/x", None);
    }
}
