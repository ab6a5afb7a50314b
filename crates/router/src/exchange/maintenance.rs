//! `maintenance`: a page for all clients but a few, while the site is worked on.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use corral_config::route::Maintenance;

use crate::exchange::Exchange;
use crate::request::routing::RouteTarget;

impl<'c> Exchange<'c> {
    /// `Err` is the answer where the action is closed to this client.
    #[inline]
    pub(super) fn admit_in_maintenance(
        &mut self,
        maintenance: Option<&'c Maintenance>,
    ) -> Result<(), RouteTarget<'c>> {
        let closed = maintenance.filter(|maintenance| self.is_closed(maintenance));
        closed.map_or(Ok(()), |maintenance| Err(self.close(maintenance)))
    }

    fn is_closed(&self, maintenance: &Maintenance) -> bool {
        !maintenance.allow.matches(self.client.address) && maintenance.file.as_deref().is_none_or(is_there)
    }

    fn close(&mut self, maintenance: &'c Maintenance) -> RouteTarget<'c> {
        self.reply.retry_after = maintenance.retry_after;
        if let Some(pages) = &maintenance.pages {
            self.way.closed = Some(if self.wants_problem() { &pages.json } else { &pages.html });
        }
        RouteTarget::Nothing(maintenance.status)
    }
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
