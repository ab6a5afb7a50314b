//! `maintenance`: a page for all clients but a few, while the site is worked on.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use corral_config::route::Maintenance;

use crate::request::client::RequestClient;

/// Whether the action is closed to this client.
#[inline]
pub(super) fn is_closed(maintenance: &Maintenance, client: RequestClient) -> bool {
    !maintenance.allow.matches(client.address) && maintenance.file.as_deref().is_none_or(is_there)
}

/// Asked for each request: a file that is made or removed counts at once.
fn is_there(file: &Path) -> bool {
    match fs::symlink_metadata(file) {
        Ok(_) => true,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => false,
        // Either guess may be wrong; a site that is open by mistake is found out sooner.
        Err(error) => {
            tracing::error!("maintenance: look for \"{}\": {error}", file.display());
            false
        }
    }
}
