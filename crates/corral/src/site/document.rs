//! The configuration of a site that was found: the one that its user would write.

mod application;
mod public;
mod routes;

use std::num::NonZeroU32;

use serde_json::{Map, Value, json};

use self::application::application;
pub(super) use self::public::is_private;
use self::routes::routes;
pub(crate) use self::routes::share;
use super::{Site, SiteKind};

/// Settings that the user or the machine decides.
#[derive(Debug)]
pub(crate) struct Choices<'a> {
    /// By their addresses, as in a configuration.
    pub(crate) listeners: Map<String, Value>,
    /// As many as the work needs unless given.
    pub(crate) n_workers: Option<NonZeroU32>,
    /// php.ini settings.
    pub(crate) php_ini: &'a [(String, String)],
    /// Patterns of paths that the site's own files deny.
    pub(crate) denied: &'a [String],
    /// Pages that stand for others in a folder of files.
    pub(crate) pages: StaticPages,
    /// The user and group of the application, where these are not the daemon's.
    pub(crate) owner: Option<(&'a str, &'a str)>,
}

/// Pages that stand for others in a folder of files.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StaticPages {
    /// `404.html` is the page of what is not there.
    pub(crate) not_found: bool,
    /// `index.html` answers for all paths without an extension: a script in it shows the right page.
    pub(crate) spa: bool,
}

impl StaticPages {
    /// The pages of a folder.
    pub(crate) fn of(site: &Site, spa: bool) -> Self {
        let is_page = site.root.join("404.html").is_file();
        Self { not_found: is_page && matches!(site.kind, SiteKind::Static), spa }
    }
}

/// The whole document.
pub(crate) fn document(site: &Site, choices: &Choices<'_>) -> Value {
    let mut document = json!({
        "listeners": choices.listeners,
        "routes": routes(site, choices),
    });
    if let Some(application) = application(site, choices) {
        document["applications"] = json!({ "site": application });
    }
    document
}

#[cfg(test)]
mod tests;
