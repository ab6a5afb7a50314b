//! The document in force, which readers never wait for, and all else that the control API works on.

mod change;

use std::sync::{Arc, MutexGuard as StdMutexGuard, PoisonError, RwLock};

use corral_acme::AcmeEngine;
use corral_config::json::{self, Bytes, Value};
use corral_config::plan::{Asset, AssetNames, Assets};
use corral_config::{Config, Known, Problem, validate};
use corral_ipc::message::{ConfigFiles, GenerationId, Module, StartPolicy, Status};
use tokio::sync::Mutex;

pub(crate) use self::change::{ChangeError, ChangeRequest, Changed, Effect, Storing};
use crate::conditions;
use crate::dashboard::hub::EventHub;
use crate::exporting::wanted::WantedExport;
use crate::folders;
use crate::history::{self, ChangeNote, History};
use crate::insertions::{Insertions, ShownDocument};
use crate::listener_access::ListenerAccess;
use crate::main_link::MainLink;
use crate::questions::{NamedQuestions, SharedQuestion};
use crate::queue::ChangeQueue;
use crate::scripts;
use crate::uploads::Uploads;

/// The state that the control API works on; clones share it.
#[derive(Clone)]
pub(crate) struct Controller {
    shared: Arc<ControllerState>,
}

struct ControllerState {
    main: MainLink,
    engine: AcmeEngine,
    modules: Vec<Module>,
    /// The modules; what was uploaded is added when a document is validated.
    known: Known,
    /// Where the configuration comes from when that is files.
    files: Option<ConfigFiles>,
    /// Replaced as a whole with each upload and removal.
    uploads: RwLock<Arc<Uploads>>,
    /// Replaced as a whole when files are in force.
    insertions: RwLock<Arc<Insertions>>,
    /// Replaced as a whole when a change is in force.
    in_force: RwLock<Arc<InForce>>,
    /// The configurations that were in force.
    history: std::sync::Mutex<History>,
    /// Held throughout a change; the highest generation handed out.
    changing: Mutex<GenerationId>,
    /// Changes and restarts that go on or wait for that.
    queue: Arc<ChangeQueue>,
    figures: SharedQuestion<Status>,
    /// The workers of applications, as objects by the numbers of their processes.
    workers: NamedQuestions<Value>,
    /// Figures for a collector.
    exports: WantedExport,
    /// The viewers of figures.
    event_hub: EventHub,
    /// The access that the document in force gives.
    listener_access: ListenerAccess,
}

/// A configuration that is in force.
#[derive(Debug)]
pub(crate) struct InForce {
    pub(crate) document: Value,
    /// The document as readers see it.
    pub(crate) shown: ShownDocument,
    /// The names of uploads in the document.
    pub(crate) names: AssetNames,
    /// The document's entity tag.
    pub(crate) tag: String,
}

impl InForce {
    pub(crate) fn new(document: Value, insertions: &Insertions, names: AssetNames) -> Self {
        let shown = insertions.show(&document);
        let tag = conditions::tag(&shown.value.compact());
        Self { document, shown, names, tag }
    }
}

impl Controller {
    pub(crate) fn new(
        main: MainLink,
        engine: AcmeEngine,
        modules: Vec<Module>,
        known: Known,
        uploads: Uploads,
        files: Option<ConfigFiles>,
        generation: GenerationId,
    ) -> Self {
        let uploads = RwLock::new(Arc::new(uploads));
        let insertions = Insertions::of_files(files.as_ref(), None);
        let in_force = InForce::new(default_document(), &insertions, AssetNames::default());
        let insertions = RwLock::new(Arc::new(insertions));
        let in_force = RwLock::new(Arc::new(in_force));
        let changing = Mutex::new(generation);
        Self {
            shared: Arc::new(ControllerState {
                main,
                engine,
                modules,
                known,
                files,
                uploads,
                insertions,
                in_force,
                history: std::sync::Mutex::default(),
                changing,
                queue: Arc::default(),
                figures: SharedQuestion::default(),
                workers: NamedQuestions::default(),
                exports: WantedExport::default(),
                event_hub: EventHub::default(),
                listener_access: ListenerAccess::default(),
            }),
        }
    }

    pub(crate) fn main(&self) -> &MainLink {
        &self.shared.main
    }

    /// The figures of main and the router; none when these do not answer.
    pub(crate) async fn figures(&self) -> Option<Arc<Status>> {
        self.shared.figures.get(async { self.main().status().await.ok().flatten() }).await
    }

    /// Questions for the workers of applications.
    pub(crate) fn workers(&self) -> &NamedQuestions<Value> {
        &self.shared.workers
    }

    /// The figures that the configuration in force wants for a collector.
    pub(crate) fn exports(&self) -> &WantedExport {
        &self.shared.exports
    }

    /// The viewers of figures.
    pub(crate) fn event_hub(&self) -> &EventHub {
        &self.shared.event_hub
    }

    /// The access by the listener of `settings.dashboard`.
    pub(crate) fn listener_access(&self) -> &ListenerAccess {
        &self.shared.listener_access
    }

    /// The orders for certificates.
    pub(crate) fn engine(&self) -> &AcmeEngine {
        &self.shared.engine
    }

    pub(crate) fn modules(&self) -> &[Module] {
        &self.shared.modules
    }

    /// Whether the configuration comes from files.
    pub(crate) fn has_files(&self) -> bool {
        self.shared.files.is_some()
    }

    /// The files that the configuration has to be changed in, when the API must not.
    pub(crate) fn files_to_change(&self) -> Option<&str> {
        let files = self.shared.files.as_ref().filter(|files| !files.is_writable);
        files.map(|files| files.names.as_str())
    }

    /// The configuration in force.
    pub(crate) fn in_force(&self) -> Arc<InForce> {
        // The lock is only held to exchange a pointer, which cannot panic.
        Arc::clone(&self.shared.in_force.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The name of an application that there is.
    pub(crate) fn application_name(&self, path: &[Bytes]) -> Option<String> {
        let in_force = self.in_force();
        let applications = in_force.document.member("applications").and_then(Value::as_object);
        let (name, _) = applications?.get_key_value(path.first()?)?;
        name.to_str().map(ToOwned::to_owned)
    }

    /// The configurations that were in force. Held for a moment only; nothing can panic meanwhile.
    pub(crate) fn history(&self) -> StdMutexGuard<'_, History> {
        self.shared.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a configuration that is in force from now on, for the next change after which no other is made before this
    /// is over. What cannot be stored is in force all the same.
    pub(crate) async fn enter(&self, in_force: InForce, note: ChangeNote<'_>) {
        let before = self.in_force();
        let added = self.history().add(note, history::now(), &before.shown.value, &in_force.shown);
        self.set_in_force(in_force);
        let stored = match added {
            Ok(None) => return,
            Ok(Some(configuration)) => {
                self.main().store_history(configuration).await.map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = stored {
            tracing::warn!("the configuration in force is not stored in the history: {error}");
        }
    }

    fn set_in_force(&self, in_force: InForce) {
        self.shared.listener_access.obey(&in_force.document);
        *self.shared.in_force.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(in_force);
    }

    /// The values of the document that `${env:…}` and `${file:…}` inserted.
    pub(crate) fn insertions(&self) -> Arc<Insertions> {
        Arc::clone(&self.shared.insertions.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Everything that was uploaded.
    pub(crate) fn uploads(&self) -> Arc<Uploads> {
        Arc::clone(&self.shared.uploads.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_uploads(&self, uploads: Uploads) {
        *self.shared.uploads.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(uploads);
    }

    /// Whether a document is a configuration, given what was uploaded.
    pub(crate) fn validate(
        &self,
        document: &Value,
        assets: &Assets,
        start_policy: StartPolicy,
    ) -> Result<Config, Vec<Problem>> {
        let names = |assets: &[Asset]| assets.iter().map(|asset| asset.name.clone()).collect();
        let known = self.shared.known.clone().with_certificates(names(&assets.certificates));
        let known = known.with_scripts(names(&assets.scripts), scripts::check_expression);
        let known = known.with_folders(folders::is_folder);
        let result = match start_policy {
            StartPolicy::Everything => validate(document, &known),
            StartPolicy::WhatStarts => validate(document, &known.lenient()),
        };
        let result = match (result, start_policy) {
            // What has broken since is for requests to find out, not for a start.
            (Ok(config), StartPolicy::Everything) => match corral_auth::files::check(&config) {
                problems if problems.is_empty() => Ok(config),
                problems => Err(problems),
            },
            (result, _) => result,
        };
        result.map_err(|problems| self.insertions().conceal_problems(problems))
    }
}

/// The document that is in force when no other is.
pub(crate) fn default_document() -> Value {
    json::parse(br#"{"listeners": {}, "routes": [], "applications": {}}"#).expect("the text is JSON")
}
