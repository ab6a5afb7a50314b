//! The document in force, and changing it: one change at a time, while readers never wait.

use std::sync::{Arc, PoisonError, RwLock};

use corral_config::json::edit::EditError;
use corral_config::json::{self, Value};
use corral_config::plan::{Asset, Assets};
use corral_config::{Config, Known, Problem, validate};
use corral_ipc::message::{ConfigFiles, FromController, Generation, Module};
use tokio::sync::Mutex;

use crate::main_link::{MainError, MainLink};
use crate::scripts;

/// What the control API works on; clones share it.
#[derive(Clone)]
pub(crate) struct Controller {
    shared: Arc<Shared>,
}

struct Shared {
    main: MainLink,
    modules: Vec<Module>,
    /// The modules; names of assets are added when a document is validated.
    known: Known,
    /// Where the configuration comes from when that is files.
    files: Option<ConfigFiles>,
    /// Replaced as a whole with each upload and removal.
    assets: RwLock<Arc<Assets>>,
    /// Replaced as a whole when a change is in force.
    document: RwLock<Arc<Value>>,
    /// Held throughout a change; the highest generation handed out.
    changing: Mutex<Generation>,
}

/// Why a configuration did not come into force; the one before still is.
#[derive(Debug)]
pub(crate) enum ChangeError {
    /// The path of the change does not fit the document.
    Edit(EditError),
    /// The changed document is no configuration.
    Invalid(Vec<Problem>),
    /// Main could not put it in force.
    NotApplied(MainError),
}

/// Whether main keeps the document for its next start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storing {
    /// Once it is in force.
    Store,
    /// What is stored stays.
    Keep,
}

impl Controller {
    pub(crate) fn new(
        main: MainLink,
        modules: Vec<Module>,
        known: Known,
        assets: Assets,
        files: Option<ConfigFiles>,
        document: Value,
        generation: Generation,
    ) -> Self {
        let assets = RwLock::new(Arc::new(assets));
        let document = RwLock::new(Arc::new(document));
        let changing = Mutex::new(generation);
        Self { shared: Arc::new(Shared { main, modules, known, files, assets, document, changing }) }
    }

    pub(crate) fn main(&self) -> &MainLink {
        &self.shared.main
    }

    pub(crate) fn modules(&self) -> &[Module] {
        &self.shared.modules
    }

    /// The document in force.
    pub(crate) fn document(&self) -> Arc<Value> {
        // The lock is only held to exchange a pointer, which cannot panic.
        Arc::clone(&self.shared.document.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The files that the configuration has to be changed in, when the API must not.
    pub(crate) fn files_to_change(&self) -> Option<&str> {
        let files = self.shared.files.as_ref().filter(|files| !files.is_writable);
        files.map(|files| files.names.as_str())
    }

    /// Everything that was uploaded.
    pub(crate) fn assets(&self) -> Arc<Assets> {
        Arc::clone(&self.shared.assets.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn known(&self, assets: &Assets) -> Known {
        let names = |assets: &[Asset]| assets.iter().map(|asset| asset.name.clone()).collect();
        let known = self.shared.known.clone().with_certificates(names(&assets.certificates));
        known.with_scripts(names(&assets.scripts), scripts::check_expression)
    }

    /// Makes `edit`'s change to the document in force. Must run to its end: once main was asked, it
    /// may have put the change in force whether or not anybody waits for it.
    pub(crate) async fn change(
        &self,
        storing: Storing,
        edit: impl FnOnce(&mut Value) -> Result<(), EditError>,
    ) -> Result<(), ChangeError> {
        let mut generation = self.shared.changing.lock().await;
        let mut document = Value::clone(&self.document());
        edit(&mut document).map_err(ChangeError::Edit)?;
        let assets = self.assets();
        let config = validate(&document, &self.known(&assets)).map_err(ChangeError::Invalid)?;
        self.put_in_force(&mut generation, &config, document, &assets, storing).await
    }

    /// Puts a whole document and its assets in force. What is stored stays. As `change`, it must run
    /// to its end.
    pub(crate) async fn replace(&self, document: Value, assets: Assets) -> Result<(), ChangeError> {
        let mut generation = self.shared.changing.lock().await;
        let config = validate(&document, &self.known(&assets)).map_err(ChangeError::Invalid)?;
        self.put_in_force(&mut generation, &config, document, &assets, Storing::Keep).await?;
        *self.shared.assets.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(assets);
        Ok(())
    }

    async fn put_in_force(
        &self,
        generation: &mut Generation,
        config: &Config,
        document: Value,
        assets: &Assets,
        storing: Storing,
    ) -> Result<(), ChangeError> {
        generation.0 += 1;
        let message = apply_message(*generation, config, &document, assets, storing);
        self.shared.main.apply(*generation, &message).await.map_err(ChangeError::NotApplied)?;
        *self.shared.document.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(document);
        Ok(())
    }

    /// Has an application start anew, between two changes.
    pub(crate) async fn restart(&self, name: String) -> Result<(), MainError> {
        let _changing = self.shared.changing.lock().await;
        self.shared.main.restart(name).await
    }
}

fn apply_message(
    generation: Generation,
    config: &Config,
    document: &Value,
    assets: &Assets,
    storing: Storing,
) -> FromController {
    FromController::Apply {
        generation,
        plan: config.plan(),
        document: document.compact(),
        assets: assets.named(&config.assets),
        store: storing == Storing::Store,
    }
}

/// The document that is in force when no other is.
pub(crate) fn default_document() -> Value {
    json::parse(br#"{"listeners": {}, "routes": [], "applications": {}}"#).expect("the text is JSON")
}
