//! Configuration files (`--config`): what a process of its own has read, as this one reads no document.

use std::time::{SystemTime, UNIX_EPOCH};

use corral_config::plan::{AssetKind, Assets};
use corral_ipc::message::{ConfigFiles, Inserted, LastChange, Module, ToController, ToReader};

use crate::options::FilesOptions;

/// The files, if the configuration comes from any.
pub(crate) struct Files {
    options: Option<FilesOptions>,
    loaded: Option<Loaded>,
    /// Why what they say now is not in force.
    pub(crate) trouble: Option<String>,
    /// Changes that were put in force or refused.
    pub(crate) n_changes: u64,
    /// The newest of them.
    pub(crate) last_change: Option<LastChange>,
}

/// The content of the files when they were read last.
pub(crate) struct Loaded {
    pub(crate) document: Vec<u8>,
    pub(crate) inserted: Vec<Inserted>,
}

impl Files {
    pub(crate) fn new(options: Option<FilesOptions>) -> Self {
        Self { options, loaded: None, trouble: None, n_changes: 0, last_change: None }
    }

    /// Whether the configuration comes from files.
    pub(crate) fn are_used(&self) -> bool {
        self.options.is_some()
    }

    /// The first message to a reader.
    pub(crate) fn reading(&self, modules: &[Module], stored: &Assets) -> Option<ToReader> {
        let options = self.options.as_ref()?;
        let names = |kind| stored.of_kind(kind).iter().map(|asset| asset.name.clone()).collect();
        Some(ToReader::Start {
            paths: options.paths.clone(),
            watch: options.watch,
            modules: modules.to_vec(),
            certificates: names(AssetKind::Certificate),
            scripts: names(AssetKind::Script),
        })
    }

    /// A change is in force, or was refused for a reason.
    pub(crate) fn settled(&mut self, trouble: Option<String>) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last_change = Some(LastChange { at, has_succeeded: trouble.is_none() });
        self.trouble = trouble.filter(|_| self.are_used());
        self.n_changes = self.n_changes.saturating_add(1);
    }

    /// Takes what was read. True if it is the first time.
    pub(crate) fn load(&mut self, loaded: Loaded) -> bool {
        self.trouble = None;
        self.loaded.replace(loaded).is_none()
    }

    /// Takes note that they cannot be used. True if something that was read before goes on.
    pub(crate) fn refuse(&mut self, problems: &[String]) -> bool {
        for problem in problems {
            tracing::error!("{problem}");
        }
        if self.loaded.is_none() {
            return false;
        }
        tracing::error!("the configuration files cannot be used; what ran before still runs");
        self.settled(Some(format!("the configuration files cannot be used: {}", problems.join(" "))));
        true
    }

    /// Has the controller put in force what they say.
    pub(crate) fn replacement(&self, assets: &Assets) -> Option<ToController> {
        let Loaded { document, inserted } = self.loaded.as_ref()?;
        let (document, inserted) = (document.clone(), inserted.clone());
        Some(ToController::Replace { document, inserted, assets: assets.clone() })
    }

    /// The files as the controller has to know them.
    pub(crate) fn describe(&self) -> Option<ConfigFiles> {
        let options = self.options.as_ref()?;
        let names: Vec<_> = options.paths.iter().map(|path| path.display().to_string()).collect();
        let inserted = self.loaded.as_ref().map(|loaded| loaded.inserted.clone()).unwrap_or_default();
        Some(ConfigFiles { names: names.join(", "), is_writable: options.is_writable, inserted })
    }
}
