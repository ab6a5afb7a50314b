//! The document in force, and changing it: one change at a time, while readers never wait.

use std::sync::{Arc, PoisonError, RwLock};

use corral_acme::Engine;
use corral_config::json::edit::{self, EditError};
use corral_config::json::{self, Bytes, Value, pointer};
use corral_config::plan::{Asset, AssetNames, Assets};
use corral_config::{Config, Known, Problem, Stage, validate};
use corral_ipc::message::{ConfigFiles, Demand, FromController, GenerationId, Inserted, Module};
use tokio::sync::{Mutex, MutexGuard};

use crate::conditions::{self, Conditions};
use crate::folders;
use crate::insertions::Insertions;
use crate::issuing;
use crate::main_link::{MainError, MainLink, Warnings};
use crate::scripts;
use crate::uploads::Uploads;

/// What the control API works on; clones share it.
#[derive(Clone)]
pub(crate) struct Controller {
    shared: Arc<Shared>,
}

struct Shared {
    main: MainLink,
    engine: Engine,
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
    /// Held throughout a change; the highest generation handed out.
    changing: Mutex<GenerationId>,
}

/// A configuration that is in force.
#[derive(Debug)]
pub(crate) struct InForce {
    pub(crate) document: Value,
    /// The document as readers see it: what was inserted into files is as it is written there.
    pub(crate) shown: Value,
    /// What it names of the uploads.
    pub(crate) names: AssetNames,
    /// Its entity tag.
    pub(crate) tag: String,
}

impl InForce {
    pub(crate) fn new(document: Value, insertions: &Insertions, names: AssetNames) -> Self {
        let shown = insertions.show(&document);
        let tag = conditions::tag(&shown.compact());
        Self { document, shown, names, tag }
    }
}

/// Why a configuration did not come into force; the one before still is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    /// The configuration is not the one that the request is about.
    #[error("a condition of the request does not hold")]
    Condition,
    /// The path of the change does not fit the document.
    #[error(transparent)]
    Edit(EditError),
    /// The changed document is no configuration.
    #[error("{}", .0.first().map_or_else(String::new, ToString::to_string))]
    Invalid(Vec<Problem>),
    /// Main could not put it in force.
    #[error(transparent)]
    NotApplied(MainError),
}

/// Whether main keeps the document for its next start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Storing {
    /// Once it is in force.
    Store,
    /// What is stored stays.
    #[default]
    Keep,
}

/// How a change is to be made.
#[derive(Default)]
pub(crate) struct Change<'a> {
    pub(crate) storing: Storing,
    /// Only find out whether the document would be a configuration.
    pub(crate) dry_run: bool,
    /// `If-Match` and the like, about `path`.
    pub(crate) conditions: Option<&'a Conditions>,
    pub(crate) path: &'a [Bytes],
    pub(crate) demand: Demand,
}

/// What became of a change.
#[derive(Debug)]
pub(crate) enum Changed {
    /// It is in force, under this entity tag.
    Applied { tag: String, warnings: Warnings },
    /// It could be; nothing was done.
    Valid,
}

impl Controller {
    pub(crate) fn new(
        main: MainLink,
        engine: Engine,
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
            shared: Arc::new(Shared {
                main,
                engine,
                modules,
                known,
                files,
                uploads,
                insertions,
                in_force,
                changing,
            }),
        }
    }

    pub(crate) fn main(&self) -> &MainLink {
        &self.shared.main
    }

    /// The orders for certificates.
    pub(crate) fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    pub(crate) fn modules(&self) -> &[Module] {
        &self.shared.modules
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

    pub(crate) fn set_in_force(&self, in_force: InForce) {
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
        demand: Demand,
    ) -> Result<Config, Vec<Problem>> {
        let names = |assets: &[Asset]| assets.iter().map(|asset| asset.name.clone()).collect();
        let known = self.shared.known.clone().with_certificates(names(&assets.certificates));
        let known = known.with_scripts(names(&assets.scripts), scripts::check_expression);
        let known = known.with_folders(folders::is_folder);
        let result = match demand {
            Demand::Everything => validate(document, &known),
            Demand::WhatStarts => validate(document, &known.lenient()),
        };
        let result = match (result, demand) {
            // What has broken since is for requests to find out, not for a start.
            (Ok(config), Demand::Everything) => match corral_auth::files::check(&config) {
                problems if problems.is_empty() => Ok(config),
                problems => Err(problems),
            },
            (result, _) => result,
        };
        result.map_err(|problems| self.insertions().conceal_problems(problems))
    }

    /// Waits until no change is under way, and keeps others from being made.
    pub(crate) async fn changing(&self) -> Changing<'_> {
        Changing { controller: self, generation: self.shared.changing.lock().await }
    }

    /// Makes `edit`'s change to the document in force. Must run to its end: once main was asked, it
    /// may have put the change in force whether or not anybody waits for it.
    pub(crate) async fn change(
        &self,
        change: Change<'_>,
        edit: impl FnOnce(&mut Value) -> Result<(), EditError>,
    ) -> Result<Changed, ChangeError> {
        let mut changing = self.changing().await;
        let in_force = self.in_force();
        let exists = edit::get(&in_force.document, change.path).is_ok();
        if change.conditions.is_some_and(|conditions| !conditions.allow_change(&in_force.tag, exists)) {
            return Err(ChangeError::Condition);
        }
        let mut document = in_force.document.clone();
        edit(&mut document).map_err(ChangeError::Edit)?;
        let uploads = self.uploads();
        let config = match self.validate(&document, &uploads.assets, change.demand) {
            Err(problems)
                if problems.iter().all(|problem| is_old(problem, &document, &in_force.document)) =>
            {
                self.validate(&document, &uploads.assets, Demand::WhatStarts)
            }
            result => result,
        };
        let config = config.map_err(ChangeError::Invalid)?;
        if change.dry_run {
            return Ok(Changed::Valid);
        }
        let warnings =
            changing.apply(&document, &config, &uploads.assets, change.storing, change.demand).await?;
        let in_force = InForce::new(document, &self.insertions(), config.assets);
        let tag = in_force.tag.clone();
        self.set_in_force(in_force);
        Ok(Changed::Applied { tag, warnings })
    }

    /// Puts a whole document and its assets in force. What is stored stays. As `change`, it must run
    /// to its end.
    pub(crate) async fn replace(
        &self,
        document: Value,
        inserted: Vec<Inserted>,
        assets: &Assets,
    ) -> Result<(), ChangeError> {
        let insertions = Insertions::of_files(self.shared.files.as_ref(), Some(inserted));
        let mut changing = self.changing().await;
        let uploads = Uploads::new(assets);
        let demand = Demand::Everything;
        let config = self.validate(&document, &uploads.assets, demand).map_err(ChangeError::Invalid)?;
        changing.apply(&document, &config, &uploads.assets, Storing::Keep, demand).await?;
        self.set_uploads(uploads);
        self.set_in_force(InForce::new(document, &insertions, config.assets));
        *self.shared.insertions.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(insertions);
        Ok(())
    }

    /// Has an application start anew, between two changes.
    pub(crate) async fn restart(&self, name: String) -> Result<(), MainError> {
        let _changing = self.changing().await;
        self.shared.main.restart(name).await
    }
}

/// The right to make a change, one at a time.
pub(crate) struct Changing<'a> {
    controller: &'a Controller,
    generation: MutexGuard<'a, GenerationId>,
}

impl Changing<'_> {
    /// Puts the document that is in force in force once more, with other uploads.
    pub(crate) async fn apply_again(&mut self, uploads: &Uploads) -> Result<(), ChangeError> {
        let in_force = self.controller.in_force();
        // What was missing when the daemon started may still be missing.
        let config = self.controller.validate(&in_force.document, &uploads.assets, Demand::WhatStarts);
        let config = config.map_err(ChangeError::Invalid)?;
        self.apply(&in_force.document, &config, &uploads.assets, Storing::Keep, Demand::Everything).await?;
        Ok(())
    }

    async fn apply(
        &mut self,
        document: &Value,
        config: &Config,
        assets: &Assets,
        storing: Storing,
        demand: Demand,
    ) -> Result<Warnings, ChangeError> {
        self.generation.0 += 1;
        let generation = *self.generation;
        let message = FromController::Apply {
            generation,
            plan: config.plan(),
            document: document.compact(),
            assets: assets.named(&config.assets),
            store: storing == Storing::Store,
            demand,
        };
        let applied = self.controller.main().apply(generation, &message).await;
        let conceal = |error| match error {
            MainError::Refused(reason) => MainError::Refused(self.controller.insertions().conceal(&reason)),
            error => error,
        };
        let warnings = applied.map_err(|error| ChangeError::NotApplied(conceal(error)))?;
        corral_ipc::log::obey(config.settings.log);
        self.controller.engine().demand(issuing::demand(config, assets));
        Ok(warnings)
    }
}

/// Whether the problem is one that what is in force has as well, since the daemon started with it: what could not
/// be used then does not keep the rest from being changed.
fn is_old(problem: &Problem, document: &Value, in_force: &Value) -> bool {
    let path = pointer::steps(&problem.pointer);
    // Files may break that a configuration has clients checked by.
    if let Some(end) = path.iter().position(|step| **step == *b"authenticate") {
        let value = |document: &'_ Value| edit::get(document, &path[..=end]).ok().map(Value::compact);
        return problem.stage == Stage::Application && value(document) == value(in_force);
    }
    let [part, _, rest @ ..] = path.as_slice() else { return false };
    // Other problems of a listener may come from elsewhere.
    let is_about_itself = match &**part {
        b"applications" => true,
        b"listeners" => rest.first().is_some_and(|member| **member == *b"tls"),
        _ => false,
    };
    let value = |document: &'_ Value| edit::get(document, &path[..2]).ok().map(Value::compact);
    is_about_itself && value(document).is_some() && value(document) == value(in_force)
}

/// The document that is in force when no other is.
pub(crate) fn default_document() -> Value {
    json::parse(br#"{"listeners": {}, "routes": [], "applications": {}}"#).expect("the text is JSON")
}
