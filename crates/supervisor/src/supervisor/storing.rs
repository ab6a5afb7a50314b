//! Keeping the configuration in force for the next start. A disk that is full or cannot be written to does not stop a
//! change that works; whoever made it is told, and it is stored as soon as that is possible.

use std::time::Instant;

use super::Supervisor;
use crate::backoff::Backoff;

/// The configuration in force is not the stored one.
pub(super) struct Unstored {
    reason: String,
    retry: Backoff,
}

impl Supervisor {
    /// Stores a document that is in force from now on.
    pub(super) fn persist(&mut self, document: &[u8]) {
        let stored = self.try_to_store(document);
        self.unstored = stored.err().map(|reason| {
            tracing::error!(target: "alert", "failed to store current configuration: {reason}; trying again");
            let now = Instant::now();
            let mut retry = Backoff::new(now);
            retry.failed(now);
            Unstored { reason, retry }
        });
    }

    fn try_to_store(&mut self, document: &[u8]) -> Result<(), String> {
        let Some(store) = &self.parts.store else { return Ok(()) };
        if self.keep_stored_aside {
            // Losing it is worse than not storing the new one, which is in force all the same.
            let aside = store.set_aside().map_err(|error| format!("{:#}", anyhow::Error::new(error)))?;
            if let Some(path) = aside {
                tracing::warn!("the stored configuration is kept as \"{}\"", path.display());
            }
            self.keep_stored_aside = false;
        }
        store.write(document).map_err(|error| format!("{:#}", anyhow::Error::new(error)))
    }

    /// Why the next start would not find what is in force.
    pub(super) fn why_not_stored(&self) -> Option<String> {
        self.unstored.as_ref().map(|unstored| unstored.reason.clone())
    }

    /// Stores what is in force if that has failed before.
    pub(super) fn store_again(&mut self) -> Result<(), String> {
        let Some(mut unstored) = self.unstored.take() else { return Ok(()) };
        let Some(document) = self.in_force.as_ref().map(|build| build.document.clone()) else {
            return Ok(());
        };
        match self.try_to_store(&document) {
            Ok(()) => {
                tracing::info!(target: "notice", "the current configuration has been stored at last");
                Ok(())
            }
            Err(reason) => {
                unstored.retry.failed(Instant::now());
                self.unstored = Some(Unstored { reason: reason.clone(), ..unstored });
                Err(reason)
            }
        }
    }

    /// When it is tried again.
    pub(super) fn storing_deadline(&self) -> Option<Instant> {
        self.unstored.as_ref()?.retry.restart_at()
    }

    pub(super) fn store_on_time(&mut self, now: Instant) {
        if self.unstored.as_ref().is_some_and(|unstored| unstored.retry.is_due(now)) {
            // Whoever asks for the status hears why.
            let _ = self.store_again();
        }
    }
}
