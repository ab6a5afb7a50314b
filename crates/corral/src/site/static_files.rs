//! Files that the server sends by itself, although an application answers for the site.

use std::path::PathBuf;

/// Files of one folder, and the paths of requests for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StaticFiles {
    /// Begins and ends with a slash.
    pub(crate) uri: String,
    pub(crate) folder: PathBuf,
}

impl StaticFiles {
    /// The same as the template of a share.
    pub(crate) fn share(&self) -> String {
        let folder = self.folder.to_string_lossy();
        match folder.strip_suffix(self.uri.trim_end_matches('/')) {
            Some(above) => format!("{}$uri", above.replace('$', "${dollar}")),
            // The end of the path alone, as the folder has another name: an expression says that.
            None => {
                let text = folder.replace('\\', "\\\\").replace('`', "\\`").replace('$', "\\$");
                format!("`{text}${{uri.slice({})}}`", self.uri.len() - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_become_shares() {
        let share = |uri: &str, folder: &str| StaticFiles { uri: uri.into(), folder: folder.into() }.share();
        assert_eq!(
            share("/static/", "/usr/lib/django/contrib/admin/static"),
            "/usr/lib/django/contrib/admin$uri"
        );
        assert_eq!(share("/static/", "/srv/$a/static"), "/srv/${dollar}a$uri");
        assert_eq!(share("/static/", "/srv/assets"), "`/srv/assets${uri.slice(7)}`");
        assert_eq!(share("/static/lib/", "/srv/a`$b"), "`/srv/a\\`\\$b${uri.slice(11)}`");
    }
}
