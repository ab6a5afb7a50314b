//! The things that the next start will find: the configuration in force, certificates and modules. A disk that is full
//! or cannot be written to does not stop a change that works; the client that made it is told, and it is stored as soon
//! as that is possible.
//!
//! Main stores the configuration, not the controller: state directories belong to root, as Unit's do, because they hold
//! private keys. Main writes bytes that it does not interpret, and the unprivileged controller needs no access to the
//! directory.

mod history;

use std::time::Instant;

use corral_config::plan::{Asset, AssetKind, Assets};
use corral_ipc::history::StoredConfiguration;
use corral_ipc::link::MAX_MESSAGE;

use self::history::HistoryFiles;
use crate::decide::backoff::Backoff;
use crate::store::Store;

/// Bytes of all that is uploaded: less than what a new controller can be told in its first message.
const MOST_UPLOADED: usize = MAX_MESSAGE / 2;

/// Bytes of all records about certificates that are ordered, for the same reason.
const MOST_RECORDED: usize = MAX_MESSAGE / 4;

/// The state directory, if there is one, and what is to be in it.
pub(crate) struct Stored {
    store: Option<Store>,
    /// The stored document, until a configuration is in force.
    pub(crate) document: Option<Vec<u8>>,
    /// The stored document is not the one that runs, and must not be lost.
    is_kept_aside: bool,
    unstored: Option<Unstored>,
    /// Every certificate bundle and JavaScript module that there is.
    assets: Assets,
    /// The records about certificates that are ordered.
    records: Vec<Asset>,
    /// The configurations that were in force.
    history: HistoryFiles,
}

/// The configuration in force is not the stored one.
struct Unstored {
    reason: String,
    retry: Backoff,
}

impl Stored {
    /// Reads what an earlier daemon left. A document that a person has `asked` for takes the place of the stored one.
    pub(crate) fn read(store: Option<Store>, asked: Option<Vec<u8>>) -> Self {
        let assets = store.as_ref().map(Store::assets).unwrap_or_default();
        let records = store.as_ref().map(Store::records).unwrap_or_default();
        let history = HistoryFiles::read(store.as_ref());
        let mut stored =
            Self { store, document: asked, is_kept_aside: false, unstored: None, assets, records, history };
        if stored.document.is_none() {
            stored.read_document();
        }
        stored
    }

    fn read_document(&mut self) {
        let read = self.store.as_ref().map(|store| store.read()).transpose();
        self.document = read.map(Option::flatten).unwrap_or_else(|error| {
            let error = anyhow::Error::new(error);
            tracing::error!(target: "alert", "failed to restore previous configuration: {error:#}");
            self.is_kept_aside = true;
            None
        });
    }

    /// The stored document must not be lost with the next one.
    pub(crate) fn keep_aside(&mut self) {
        self.is_kept_aside = true;
    }

    pub(crate) fn assets(&self) -> &Assets {
        &self.assets
    }

    /// The assets that the state directory has.
    pub(crate) fn stored_assets(&self) -> Assets {
        self.store.as_ref().map(Store::assets).unwrap_or_default()
    }

    /// Takes the assets that the state directory has, and these.
    pub(crate) fn replace_assets(&mut self, added: &Assets) {
        self.assets = self.stored_assets();
        for kind in [AssetKind::Certificate, AssetKind::Script] {
            for asset in added.of_kind(kind) {
                self.assets.set(kind, &asset.name, Some(asset.bytes.clone()));
            }
        }
    }

    /// Stores or removes one. Remembers it for the next controller as well, which may start when there is no state
    /// directory.
    pub(crate) fn set_asset(
        &mut self,
        kind: AssetKind,
        name: &str,
        bytes: Option<Vec<u8>>,
    ) -> Result<(), String> {
        let n_bytes = bytes.as_ref().map_or(0, |bytes| name.len() + bytes.len());
        if n_bytes > 0 && self.assets.size() + n_bytes > MOST_UPLOADED {
            return Err(format!("all that is uploaded may have {MOST_UPLOADED} bytes together"));
        }
        if let Some(store) = &self.store {
            let stored = store.set_asset(kind, name, bytes.as_deref());
            stored.map_err(|error| format!("{:#}", anyhow::Error::new(error)))?;
        }
        self.assets.set(kind, name, bytes);
        Ok(())
    }

    /// The records about certificates that are ordered.
    pub(crate) fn records(&self) -> &[Asset] {
        &self.records
    }

    /// Stores or removes one; remembers it as `set_asset` does.
    pub(crate) fn set_record(&mut self, name: &str, bytes: Option<Vec<u8>>) -> Result<(), String> {
        let size: usize = self.records.iter().map(|record| record.name.len() + record.bytes.len()).sum();
        if bytes.as_ref().is_some_and(|bytes| size + name.len() + bytes.len() > MOST_RECORDED) {
            return Err(format!("all records of certificates may have {MOST_RECORDED} bytes together"));
        }
        if let Some(store) = &self.store {
            let stored = store.set_record(name, bytes.as_deref());
            stored.map_err(|error| format!("{:#}", anyhow::Error::new(error)))?;
        }
        self.records.retain(|record| record.name != name);
        self.records.extend(bytes.map(|bytes| Asset { name: name.to_owned(), bytes }));
        Ok(())
    }

    /// The configurations that were in force, oldest first.
    pub(crate) fn history(&self) -> &[StoredConfiguration] {
        self.history.all()
    }

    /// Stores a configuration that is in force now; remembers it as `set_asset` does, also if it cannot be stored.
    pub(crate) fn add_history(&mut self, configuration: StoredConfiguration) -> Result<(), String> {
        self.history.add(self.store.as_ref(), configuration)
    }

    /// Stores a document that is in force from now on.
    pub(crate) fn persist(&mut self, document: &[u8]) {
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
        let Some(store) = &self.store else { return Ok(()) };
        if self.is_kept_aside {
            // Losing it is worse than not storing the new one, which is in force all the same.
            let aside = store.set_aside().map_err(|error| format!("{:#}", anyhow::Error::new(error)))?;
            if let Some(path) = aside {
                tracing::warn!("the stored configuration is kept as \"{}\"", path.display());
            }
            self.is_kept_aside = false;
        }
        store.write(document).map_err(|error| format!("{:#}", anyhow::Error::new(error)))
    }

    /// Why the next start would not find what is in force.
    pub(crate) fn why_not(&self) -> Option<&str> {
        self.unstored.as_ref().map(|unstored| unstored.reason.as_str())
    }

    /// Stores the document in force if that has failed before.
    pub(crate) fn store_again(&mut self, in_force: Option<&[u8]>) -> Result<(), String> {
        let Some(mut unstored) = self.unstored.take() else { return Ok(()) };
        let Some(document) = in_force else { return Ok(()) };
        match self.try_to_store(document) {
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

    /// When that is to be tried.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        self.unstored.as_ref()?.retry.restart_at()
    }
}
